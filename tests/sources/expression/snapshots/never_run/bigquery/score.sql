-- compiled, never run
SELECT
  *
FROM (
  SELECT
    `t3`.`item_0`,
    SUM(`t3`.`units`) AS `count`
  FROM (
    SELECT
      `t2`.`user`,
      `t2`.`item_0`,
      LEAST(`t2`.`units`, 1000000) AS `units`
    FROM (
      SELECT
        `t1`.`user`,
        `t1`.`item_0`,
        SUM(`t1`.`units`) AS `units`
      FROM (
        SELECT
          CAST(`t0`.`user` AS BYTES) AS `user`,
          CAST(`t0`.`item` AS BYTES) AS `item_0`,
          CAST(FLOOR(GREATEST(LEAST(CAST(`t0`.`price` AS FLOAT64), 100.0), 0.0) * 10000.0) AS INT64) AS `units`
        FROM `events` AS `t0`
        WHERE
          `t0`.`user` IS NOT NULL AND `t0`.`item` IS NOT NULL AND `t0`.`price` IS NOT NULL
      ) AS `t1`
      GROUP BY
        1,
        2
    ) AS `t2`
    WHERE
      LEAST(`t2`.`units`, 1000000) > 0
  ) AS `t3`
  GROUP BY
    1
) AS `t4`
ORDER BY
  `t4`.`count` DESC,
  `t4`.`item_0` ASC NULLS LAST
LIMIT 101
