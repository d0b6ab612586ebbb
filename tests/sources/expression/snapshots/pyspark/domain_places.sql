SELECT
  `t2`.`place_in_list`,
  `t2`.`item_0`
FROM (
  SELECT
    `t1`.`item_0`,
    ROW_NUMBER() OVER (ORDER BY `t1`.`item_0` ASC NULLS LAST) - 1 AS `place_in_list`
  FROM (
    SELECT DISTINCT
      CAST(`t0`.`item` AS BINARY) AS `item_0`
    FROM `catalogue` AS `t0`
    WHERE
      `t0`.`item` IS NOT NULL
  ) AS `t1`
) AS `t2`
WHERE
  `t2`.`place_in_list` IN (3, 7)
