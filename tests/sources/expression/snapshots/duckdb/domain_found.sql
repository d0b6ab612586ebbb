SELECT
  "t12"."place_in_list",
  "t11"."count",
  "t12"."item_0"
FROM (
  SELECT
    "t6"."item_0",
    ROW_NUMBER() OVER (
      ORDER BY "t6"."item_0" ASC
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) - 1 AS "place_in_list"
  FROM (
    SELECT DISTINCT
      *
    FROM (
      SELECT
        ENCODE("t2"."item") AS "item_0"
      FROM (
        SELECT
          *
        FROM "catalogue" AS "t0"
        WHERE
          "t0"."item" IS NOT NULL
      ) AS "t2"
    ) AS "t4"
  ) AS "t6"
) AS "t12"
INNER JOIN (
  SELECT
    "t8"."item_0" AS "found_item_0",
    "t8"."count"
  FROM (
    SELECT
      "t7"."item_0",
      COUNT(*) AS "count"
    FROM (
      SELECT DISTINCT
        *
      FROM (
        SELECT
          ENCODE("t3"."user") AS "user",
          ENCODE("t3"."item") AS "item_0"
        FROM (
          SELECT
            *
          FROM "events" AS "t1"
          WHERE
            "t1"."user" IS NOT NULL AND "t1"."item" IS NOT NULL
        ) AS "t3"
      ) AS "t5"
    ) AS "t7"
    GROUP BY
      1
  ) AS "t8"
) AS "t11"
  ON "t12"."item_0" = "t11"."found_item_0"
