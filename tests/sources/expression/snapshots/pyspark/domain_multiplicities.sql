SELECT
  `t8`.`count`,
  COUNT(*) AS `how_many`
FROM (
  SELECT
    `t4`.`item_0`,
    COALESCE(`t7`.`count`, 0) AS `count`
  FROM (
    SELECT DISTINCT
      CAST(`t0`.`item` AS BINARY) AS `item_0`
    FROM `catalogue` AS `t0`
    WHERE
      `t0`.`item` IS NOT NULL
  ) AS `t4`
  LEFT OUTER JOIN (
    SELECT
      `t5`.`item_0` AS `found_item_0`,
      `t5`.`count`
    FROM (
      SELECT
        `t3`.`item_0`,
        COUNT(*) AS `count`
      FROM (
        SELECT DISTINCT
          CAST(`t1`.`user` AS BINARY) AS `user`,
          CAST(`t1`.`item` AS BINARY) AS `item_0`
        FROM `events` AS `t1`
        WHERE
          `t1`.`user` IS NOT NULL AND `t1`.`item` IS NOT NULL
      ) AS `t3`
      GROUP BY
        1
    ) AS `t5`
  ) AS `t7`
    ON `t4`.`item_0` = `t7`.`found_item_0`
) AS `t8`
GROUP BY
  1
