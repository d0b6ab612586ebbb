-- compiled, never run
SELECT
  *
FROM (
  SELECT
    `t1`.`item_0`,
    COUNT(*) AS `count`
  FROM (
    SELECT DISTINCT
      CAST(`t0`.`user` AS BINARY) AS `user`,
      CAST(`t0`.`item` AS BINARY) AS `item_0`
    FROM `events` AS `t0`
    WHERE
      `t0`.`user` IS NOT NULL AND `t0`.`item` IS NOT NULL
  ) AS `t1`
  GROUP BY
    1
) AS `t2`
ORDER BY
  `t2`.`count` DESC,
  `t2`.`item_0` ASC NULLS LAST
LIMIT 101
