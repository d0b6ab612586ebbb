SELECT
  "t4"."place_in_list",
  "t4"."item_0"
FROM (
  SELECT
    "t3"."item_0",
    ROW_NUMBER() OVER (
      ORDER BY "t3"."item_0" ASC
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) - 1 AS "place_in_list"
  FROM (
    SELECT DISTINCT
      *
    FROM (
      SELECT
        CONVERT_TO("t1"."item", 'UTF8') AS "item_0"
      FROM (
        SELECT
          *
        FROM "catalogue" AS "t0"
        WHERE
          "t0"."item" IS NOT NULL
      ) AS "t1"
    ) AS "t2"
  ) AS "t3"
) AS "t4"
WHERE
  "t4"."place_in_list" IN (3, 7)
