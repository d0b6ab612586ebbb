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
          CONVERT_TO("t1"."user", 'UTF8') AS "user",
          CONVERT_TO("t1"."item", 'UTF8') AS "item_0",
          CAST(FLOOR(
            CASE
              WHEN "t1"."price" < CAST('0.000001' AS DECIMAL)
              THEN 0.0
              WHEN "t1"."price" >= CAST('100' AS DECIMAL)
              THEN 100.0
              ELSE CAST("t1"."price" AS DOUBLE PRECISION)
            END * 10000.0
          ) AS BIGINT) AS "units"
        FROM (
          SELECT
            *
          FROM "events" AS "t0"
          WHERE
            "t0"."user" IS NOT NULL
            AND "t0"."item" IS NOT NULL
            AND "t0"."price" IS NOT NULL
            AND NOT (
              CAST("t0"."price" AS VARCHAR) IN ('NaN', 'Infinity', '-Infinity')
            )
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
  "t5"."count" DESC NULLS LAST,
  "t5"."item_0" ASC
LIMIT 101
