-- compiled, never run
SELECT
  "t4"."item_0",
  "t4"."item_1",
  "t4"."item_2",
  CAST("t4"."item_3" AS VARCHAR) AS "item_3",
  "t4"."item_4",
  "t4"."item_5",
  "t4"."count"
FROM (
  SELECT
    "t3"."item_0",
    "t3"."item_1",
    "t3"."item_2",
    "t3"."item_3",
    "t3"."item_4",
    "t3"."item_5",
    COUNT(*) AS "count"
  FROM (
    SELECT DISTINCT
      *
    FROM (
      SELECT
        TO_UTF8("t1"."user") AS "user",
        TO_UTF8("t1"."item") AS "item_0",
        "t1"."n" AS "item_1",
        IF("t1"."x" = CAST(0.0 AS DOUBLE), CAST(0.0 AS DOUBLE), "t1"."x") AS "item_2",
        "t1"."price" AS "item_3",
        "t1"."day" AS "item_4",
        TRY_CAST("t1"."at" AS TIMESTAMP(6)) AS "item_5"
      FROM (
        SELECT
          *
        FROM "events" AS "t0"
        WHERE
          "t0"."user" IS NOT NULL
          AND "t0"."item" IS NOT NULL
          AND "t0"."n" IS NOT NULL
          AND "t0"."x" IS NOT NULL
          AND NOT (
            IS_NAN("t0"."x")
          )
          AND "t0"."price" IS NOT NULL
          AND "t0"."day" IS NOT NULL
          AND "t0"."day" BETWEEN FROM_ISO8601_DATE('0001-01-01') AND FROM_ISO8601_DATE('9999-12-31')
          AND TRY_CAST("t0"."at" AS TIMESTAMP(6)) IS NOT NULL
          AND TRY_CAST("t0"."at" AS TIMESTAMP(6)) BETWEEN CAST(FROM_ISO8601_TIMESTAMP('0001-01-02T00:00:00') AS TIMESTAMP) AND CAST(FROM_ISO8601_TIMESTAMP('9999-12-30T00:00:00') AS TIMESTAMP)
      ) AS "t1"
    ) AS "t2"
  ) AS "t3"
  GROUP BY
    1,
    2,
    3,
    4,
    5,
    6
) AS "t4"
ORDER BY
  "t4"."count" DESC,
  "t4"."item_0" ASC,
  "t4"."item_1" ASC,
  "t4"."item_2" ASC,
  "t4"."item_3" ASC,
  "t4"."item_4" ASC,
  "t4"."item_5" ASC
LIMIT 101
