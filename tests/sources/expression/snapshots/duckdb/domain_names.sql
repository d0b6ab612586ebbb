SELECT
  "t14"."count",
  "t14"."index",
  "t14"."item_0"
FROM (
  SELECT
    "t13"."item_0",
    "t13"."count",
    ROW_NUMBER() OVER (
      PARTITION BY "t13"."count"
      ORDER BY "t13"."item_0" ASC
      ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) - 1 AS "index"
  FROM (
    SELECT
      *
    FROM (
      SELECT
        "t8"."item_0",
        COALESCE("t11"."count", 0) AS "count"
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
        ) AS "t9"
      ) AS "t11"
        ON "t8"."item_0" = "t11"."found_item_0"
    ) AS "t12"
    WHERE
      "t12"."count" IN (0, 3)
  ) AS "t13"
) AS "t14"
WHERE
  CAST("t14"."count" AS TEXT) || ':' || CAST("t14"."index" AS TEXT) IN ('0:12', '3:0')
