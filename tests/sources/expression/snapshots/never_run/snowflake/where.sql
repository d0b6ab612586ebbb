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
        TO_BINARY("t1"."user", 'UTF-8') AS "user",
        TO_BINARY("t1"."item", 'UTF-8') AS "item_0"
      FROM (
        SELECT
          *
        FROM "events" AS "t0"
        WHERE
          "t0"."user" IS NOT NULL
          AND "t0"."item" IS NOT NULL
          AND TO_BINARY("t0"."item", 'UTF-8') >= TO_BINARY('a\'b', 'UTF-8')
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
          AND "t0"."day" < DATE_FROM_PARTS(2026, 1, 31)
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
