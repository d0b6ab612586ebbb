SELECT
  `t10`.`count`,
  `t10`.`index`,
  `t10`.`item_0`
FROM (
  SELECT
    `t9`.`item_0`,
    `t9`.`count`,
    ROW_NUMBER() OVER (PARTITION BY `t9`.`count` ORDER BY `t9`.`item_0` ASC NULLS LAST) - 1 AS `index`
  FROM (
    SELECT
      *
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
    WHERE
      `t8`.`count` IN (0, 3)
  ) AS `t9`
) AS `t10`
WHERE
  CONCAT(CONCAT(CAST(`t10`.`count` AS STRING), ':'), CAST(`t10`.`index` AS STRING)) IN ('0:12', '3:0')
