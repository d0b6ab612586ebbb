SELECT
  "t12"."count",
  COUNT(*) AS "how_many"
FROM (
  SELECT
    "t8"."item_0",
    COALESCE("t11"."count", 0) AS "count"
  FROM (
    SELECT DISTINCT
      *
    FROM (
      SELECT
        CONVERT_TO("t2"."item", 'UTF8') AS "item_0"
      FROM (
        SELECT
          *
        FROM "catalogue" AS "t0"
        WHERE
          "t0"."item" IS NOT NULL
      ) AS "t2"
    ) AS "t4"
  ) AS "t8"
  LEFT OUTER JOIN (
    SELECT
      "t9"."item_0" AS "found_item_0",
      "t9"."count"
    FROM (
      SELECT
        "t7"."item_0",
        COUNT(*) AS "count"
      FROM (
        SELECT DISTINCT
          *
        FROM (
          SELECT
            CONVERT_TO("t3"."user", 'UTF8') AS "user",
            CONVERT_TO("t3"."item", 'UTF8') AS "item_0"
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
    ) AS "t9"
  ) AS "t11"
    ON "t8"."item_0" = "t11"."found_item_0"
) AS "t12"
GROUP BY
  1
