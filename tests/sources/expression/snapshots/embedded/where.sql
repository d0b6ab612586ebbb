SELECT
  ENCODE("t3"."item_0") AS "item_0",
  "t3"."count"
FROM (
  SELECT
    *
  FROM (
    SELECT
      "t1"."item_0",
      COUNT(*) AS "count"
    FROM (
      SELECT DISTINCT
        "t0"."user",
        "t0"."item" AS "item_0"
      FROM "events" AS "t0"
      WHERE
        "t0"."user" IS NOT NULL
        AND "t0"."item" IS NOT NULL
        AND "t0"."item" >= 'a''b'
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
    GROUP BY
      1
  ) AS "t2"
  ORDER BY
    "t2"."count" DESC,
    "t2"."item_0" ASC
) AS "t3"
LIMIT 101
