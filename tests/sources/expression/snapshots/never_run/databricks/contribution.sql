-- compiled, never run
SELECT
  *
FROM (
  SELECT
    `t3`.`item_0`,
    COUNT(*) AS `count`
  FROM (
    SELECT
      `t2`.`user`,
      `t2`.`item_0`
    FROM (
      SELECT
        `t1`.`user`,
        `t1`.`item_0`,
        ROW_NUMBER() OVER (
          PARTITION BY `t1`.`user`
          ORDER BY SUBSTRING(
            MD5(
              CONCAT(
                'be45cb2605bf36bebde684841a28f0fd',
                CAST(LENGTH(CAST(`t1`.`user` AS STRING)) AS STRING),
                ':',
                CAST(`t1`.`user` AS STRING),
                CAST(`t1`.`item_0` AS STRING)
              )
            ),
            1,
            12
          ) ASC NULLS LAST, `t1`.`item_0` ASC NULLS LAST
        ) - 1 AS `place`
      FROM (
        SELECT DISTINCT
          CAST(`t0`.`user` AS BINARY) AS `user`,
          CAST(`t0`.`item` AS BINARY) AS `item_0`
        FROM `events` AS `t0`
        WHERE
          `t0`.`user` IS NOT NULL AND `t0`.`item` IS NOT NULL
      ) AS `t1`
    ) AS `t2`
    WHERE
      `t2`.`place` < 5
  ) AS `t3`
  GROUP BY
    1
) AS `t4`
ORDER BY
  `t4`.`count` DESC,
  `t4`.`item_0` ASC NULLS LAST
LIMIT 101
