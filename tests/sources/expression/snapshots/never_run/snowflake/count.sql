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
          "t0"."user" IS NOT NULL AND "t0"."item" IS NOT NULL
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
