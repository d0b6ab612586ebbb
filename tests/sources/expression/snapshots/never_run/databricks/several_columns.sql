-- compiled, never run
SELECT
  `t2`.`item_0`,
  `t2`.`item_1`,
  `t2`.`item_2`,
  CAST(`t2`.`item_3` AS STRING) AS `item_3`,
  `t2`.`item_4`,
  `t2`.`item_5`,
  `t2`.`count`
FROM (
  SELECT
    `t1`.`item_0`,
    `t1`.`item_1`,
    `t1`.`item_2`,
    `t1`.`item_3`,
    `t1`.`item_4`,
    `t1`.`item_5`,
    COUNT(*) AS `count`
  FROM (
    SELECT DISTINCT
      CAST(`t0`.`user` AS BINARY) AS `user`,
      CAST(`t0`.`item` AS BINARY) AS `item_0`,
      `t0`.`n` AS `item_1`,
      IF(`t0`.`x` = 0.0, 0.0, `t0`.`x`) AS `item_2`,
      `t0`.`price` AS `item_3`,
      `t0`.`day` AS `item_4`,
      TRY_CAST(`t0`.`at` AS TIMESTAMP(6)) AS `item_5`
    FROM `events` AS `t0`
    WHERE
      `t0`.`user` IS NOT NULL
      AND `t0`.`item` IS NOT NULL
      AND `t0`.`n` IS NOT NULL
      AND (
        `t0`.`x` IS NOT NULL AND NOT ISNAN(`t0`.`x`)
      )
      AND NOT (
        ISNAN(`t0`.`x`)
      )
      AND `t0`.`price` IS NOT NULL
      AND `t0`.`day` IS NOT NULL
      AND `t0`.`day` BETWEEN MAKE_DATE(1, 1, 1) AND MAKE_DATE(9999, 12, 31)
      AND TRY_CAST(`t0`.`at` AS TIMESTAMP(6)) IS NOT NULL
      AND TRY_CAST(`t0`.`at` AS TIMESTAMP(6)) BETWEEN CAST('0001-01-02T00:00:00' AS TIMESTAMP) AND CAST('9999-12-30T00:00:00' AS TIMESTAMP)
  ) AS `t1`
  GROUP BY
    1,
    2,
    3,
    4,
    5,
    6
) AS `t2`
ORDER BY
  `t2`.`count` DESC,
  `t2`.`item_0` ASC NULLS LAST,
  `t2`.`item_1` ASC NULLS LAST,
  `t2`.`item_2` ASC NULLS LAST,
  `t2`.`item_3` ASC NULLS LAST,
  `t2`.`item_4` ASC NULLS LAST,
  `t2`.`item_5` ASC NULLS LAST
LIMIT 101
