-- compiled, never run
SELECT
  *
FROM (
  SELECT
    "t5"."item_0",
    COUNT(*) AS "count"
  FROM (
    SELECT
      "t4"."user",
      "t4"."item_0"
    FROM (
      SELECT
        "t3"."user",
        "t3"."item_0",
        ROW_NUMBER() OVER (
          PARTITION BY "t3"."user"
          ORDER BY SUBSTRING(
            MD5(
              CONCAT(
                'be45cb2605bf36bebde684841a28f0fd',
                CAST(LENGTH(TO_CHAR("t3"."user", 'UTF-8')) AS VARCHAR),
                ':',
                TO_CHAR("t3"."user", 'UTF-8'),
                TO_CHAR("t3"."item_0", 'UTF-8')
              )
            ),
            1,
            12
          ) ASC, "t3"."item_0" ASC
        ) - 1 AS "place"
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
    ) AS "t4"
    WHERE
      "t4"."place" < 5
  ) AS "t5"
  GROUP BY
    1
) AS "t6"
ORDER BY
  "t6"."count" DESC NULLS LAST,
  "t6"."item_0" ASC
LIMIT 101
