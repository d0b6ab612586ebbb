SELECT
  *
FROM (
  SELECT
    "t3"."item_0",
    COUNT(*) AS "count"
  FROM (
    SELECT DISTINCT
      *
    FROM (
      SELECT
        ENCODE("t1"."user") AS "user",
        ENCODE("t1"."item") AS "item_0"
      FROM (
        SELECT
          *
        FROM "events" AS "t0"
        WHERE
          "t0"."user" IS NOT NULL
          AND "t0"."item" IS NOT NULL
          AND TRY(ENCODE("t0"."item") >= ENCODE('a''b'))
          AND NOT (
            "t0"."n" IN (1, 2)
            OR (
              CASE
                WHEN NOT (
                  CAST("t0"."x" AS TEXT) IN ('nan', '-nan')
                )
                THEN "t0"."x" >= CAST('0.5' AS DOUBLE)
                ELSE CAST(NULL AS BOOLEAN)
              END
              AND CASE
                WHEN NOT (
                  CAST("t0"."x" AS TEXT) IN ('nan', '-nan')
                )
                THEN "t0"."x" <= CAST('1.0' AS DOUBLE)
                ELSE CAST(NULL AS BOOLEAN)
              END
            )
          )
          AND "t0"."day" < MAKE_DATE(2026, 1, 31)
          AND "t0"."yes" = TRUE
      ) AS "t1"
    ) AS "t2"
  ) AS "t3"
  GROUP BY
    1
) AS "t4"
ORDER BY
  "t4"."count" DESC,
  "t4"."item_0" ASC
LIMIT 101
