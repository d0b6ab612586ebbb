-- compiled, never run
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
        TO_UTF8("t1"."user") AS "user",
        TO_UTF8("t1"."item") AS "item_0"
      FROM (
        SELECT
          *
        FROM "events" AS "t0"
        WHERE
          "t0"."user" IS NOT NULL
          AND "t0"."item" IS NOT NULL
          AND TO_UTF8("t0"."item") >= TO_UTF8('a''b')
          AND NOT (
            "t0"."n" IN (1, 2)
            OR (
              (
                "t0"."x" >= CAST('0.5' AS DOUBLE)
              )
              AND (
                "t0"."x" <= CAST('1.0' AS DOUBLE)
              )
            )
          )
          AND "t0"."day" < FROM_ISO8601_DATE('2026-01-31')
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
