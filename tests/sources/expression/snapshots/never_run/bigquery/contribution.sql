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
            TO_HEX(
              MD5(
                CONCAT(
                  'be45cb2605bf36bebde684841a28f0fd',
                  CAST(LENGTH(SAFE_CONVERT_BYTES_TO_STRING(`t1`.`user`)) AS STRING),
                  ':',
                  SAFE_CONVERT_BYTES_TO_STRING(`t1`.`user`),
                  SAFE_CONVERT_BYTES_TO_STRING(`t1`.`item_0`)
                )
              )
            ),
            1,
            12
          ) ASC, `t1`.`item_0` ASC
        ) - 1 AS `place`
      FROM (
        SELECT DISTINCT
          CAST(`t0`.`user` AS BYTES) AS `user`,
          CAST(`t0`.`item` AS BYTES) AS `item_0`
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
