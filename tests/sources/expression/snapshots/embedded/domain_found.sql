SELECT
  "t8"."place_in_list",
  "t7"."count",
  ENCODE("t8"."item_0") AS "item_0"
FROM (
  SELECT
    "t2"."item_0",
    ROW_NUMBER() OVER (
      ORDER BY "t2"."item_0" ASC
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) - 1 AS "place_in_list"
  FROM (
    SELECT DISTINCT
      "t0"."item" AS "item_0"
    FROM "catalogue" AS "t0"
    WHERE
      "t0"."item" IS NOT NULL
  ) AS "t2"
) AS "t8"
INNER JOIN (
  SELECT
    "t4"."item_0" AS "found_item_0",
    "t4"."count"
  FROM (
    SELECT
      "t3"."item_0",
      COUNT(*) AS "count"
    FROM (
      SELECT DISTINCT
        "t1"."user",
        "t1"."item" AS "item_0"
      FROM "events" AS "t1"
      WHERE
        "t1"."user" IS NOT NULL AND "t1"."item" IS NOT NULL
    ) AS "t3"
    GROUP BY
      1
  ) AS "t4"
) AS "t7"
  ON "t8"."item_0" = "t7"."found_item_0"
