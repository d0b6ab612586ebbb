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
      `t0`.`user` IS NOT NULL
      AND `t0`.`item` IS NOT NULL
      AND CAST(`t0`.`item` AS BINARY) >= CAST('a\'b' AS BINARY)
      AND NOT (
        `t0`.`n` IN (1, 2)
        OR (
          IF(NOT (
            ISNAN(`t0`.`x`)
          ), `t0`.`x` >= CAST('0.5' AS DOUBLE), CAST(NULL AS BOOLEAN))
          AND IF(NOT (
            ISNAN(`t0`.`x`)
          ), `t0`.`x` <= CAST('1.0' AS DOUBLE), CAST(NULL AS BOOLEAN))
        )
      )
      AND `t0`.`day` < MAKE_DATE(2026, 1, 31)
      AND `t0`.`yes` = TRUE
  ) AS `t1`
  GROUP BY
    1
) AS `t2`
ORDER BY
  `t2`.`count` DESC,
  `t2`.`item_0` ASC NULLS LAST
LIMIT 101
