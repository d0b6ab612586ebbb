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
        CONVERT_TO("t1"."user", 'UTF8') AS "user",
        CONVERT_TO("t1"."item", 'UTF8') AS "item_0"
      FROM (
        SELECT
          *
        FROM "events" AS "t0"
        WHERE
          "t0"."user" IS NOT NULL
          AND "t0"."item" IS NOT NULL
          AND CONVERT_TO("t0"."item", 'UTF8') >= CONVERT_TO('a''b', 'UTF8')
          AND NOT (
            "t0"."n" IN (1, 2)
            OR (
              CASE
                WHEN NOT (
                  "t0"."x" = CAST('NaN' AS DOUBLE PRECISION)
                )
                THEN "t0"."x" >= CAST('0.5' AS DOUBLE PRECISION)
                ELSE CAST(NULL AS BOOLEAN)
              END
              AND CASE
                WHEN NOT (
                  "t0"."x" = CAST('NaN' AS DOUBLE PRECISION)
                )
                THEN "t0"."x" <= CAST('1.0' AS DOUBLE PRECISION)
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
  "t4"."count" DESC NULLS LAST,
  "t4"."item_0" ASC
LIMIT 101
