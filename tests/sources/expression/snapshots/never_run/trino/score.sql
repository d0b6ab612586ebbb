-- compiled, never run
SELECT
  *
FROM (
  SELECT
    "t4"."item_0",
    SUM("t4"."units") AS "count"
  FROM (
    SELECT
      "t3"."user",
      "t3"."item_0",
      LEAST("t3"."units", 1000000) AS "units"
    FROM (
      SELECT
        "t2"."user",
        "t2"."item_0",
        SUM("t2"."units") AS "units"
      FROM (
        SELECT
          TO_UTF8("t1"."user") AS "user",
          TO_UTF8("t1"."item") AS "item_0",
          CAST(FLOOR(
            GREATEST(LEAST(CAST("t1"."price" AS DOUBLE), CAST(100.0 AS DOUBLE)), CAST(0.0 AS DOUBLE)) * CAST(10000.0 AS DOUBLE)
          ) AS BIGINT) AS "units"
        FROM (
          SELECT
            *
          FROM "events" AS "t0"
          WHERE
            "t0"."user" IS NOT NULL AND "t0"."item" IS NOT NULL AND "t0"."price" IS NOT NULL
        ) AS "t1"
      ) AS "t2"
      GROUP BY
        1,
        2
    ) AS "t3"
    WHERE
      LEAST("t3"."units", 1000000) > 0
  ) AS "t4"
  GROUP BY
    1
) AS "t5"
ORDER BY
  "t5"."count" DESC,
  "t5"."item_0" ASC
LIMIT 101
