SELECT
  "t3"."place_in_list",
  ENCODE("t3"."item_0") AS "item_0"
FROM (
  SELECT
    *
  FROM (
    SELECT
      "t1"."item_0",
      ROW_NUMBER() OVER (
        ORDER BY "t1"."item_0" ASC
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      ) - 1 AS "place_in_list"
    FROM (
      SELECT DISTINCT
        "t0"."item" AS "item_0"
      FROM "catalogue" AS "t0"
      WHERE
        "t0"."item" IS NOT NULL
    ) AS "t1"
  ) AS "t2"
  WHERE
    "t2"."place_in_list" IN (3, 7)
) AS "t3"
