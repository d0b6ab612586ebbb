"""SQL texts asked of real rows: DuckDB's own result of the same text is what a question counts."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import duckdb
import pandas as pd
import pytest

import crestline as cl
from crestline.question import Question
from crestline.sources import open_source
from crestline.sql_questions.reader import SqlTable
from crestline.sql_questions.statement import read_statement

pytestmark = pytest.mark.long

ROWS = [
    (user, f"s{item % 7}", country, pd.Timestamp(2026, 1 + (user + item) % 6, 1 + item), 1 + item % 3)
    for user in range(60)
    for item in range(9)
    for country in (("DE", "FR", "US")[user % 3],)
    if (user * item) % (2 + item) < 2
]
SALES = pd.DataFrame(ROWS, columns=["customer_id", "sku", "country", "day", "quantity"])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sku, COUNT(DISTINCT customer_id) n FROM sales GROUP BY sku ORDER BY n DESC, sku LIMIT 5",
        "SELECT sku, COUNT(DISTINCT customer_id) n FROM sales WHERE country = 'DE' OR quantity = 2 GROUP BY 1 "
        "ORDER BY n DESC, sku LIMIT 9",
        "SELECT country, sku, COUNT(DISTINCT customer_id) n FROM (SELECT * FROM sales WHERE NOT country IN ('US')) v "
        "GROUP BY 1, 2 ORDER BY n DESC, country, sku",
        "SELECT EXTRACT(month FROM day) m, COUNT(DISTINCT customer_id) n FROM sales WHERE day >= '2026-02-01' "
        "AND day < '2026-05-01' GROUP BY 1 ORDER BY n DESC, m",
        'select "_"."sku" as "c1", "_"."a0" as "a0" from (select "rows"."sku" as "sku", count(distinct("rows".'
        '"customer_id")) as "a0" from (select "sku", "customer_id" from "sales" "$Table") "rows" group by "sku") "_" '
        'where not "_"."a0" is null order by "a0" desc, "c1" limit 1001',
        'SELECT "sales"."country" AS "country", COUNT(DISTINCT "sales"."customer_id") AS "n" FROM "sales" WHERE '
        '(("sales"."day" >= (DATE \'2026-02-01\')) AND ("sales"."quantity" IN (1, 3))) GROUP BY 1 '
        "HAVING (COUNT(1) > 0) ORDER BY 2 DESC, 1",
        'SELECT CAST(EXTRACT(month FROM "sales"."day") AS integer) AS "m", COUNT(DISTINCT customer_id) n FROM sales '
        'WHERE (country ) = \'DE\' GROUP BY CAST(EXTRACT(month FROM "sales"."day") AS integer) ORDER BY 2 DESC, 1',
        "WITH s AS (SELECT sku AS thing, customer_id AS who FROM sales WHERE country <> 'US') "
        "SELECT thing, COUNT(DISTINCT who) AS n FROM s GROUP BY ALL ORDER BY n DESC, thing LIMIT 3",
        "FROM sales SELECT quantity, count(DISTINCT customer_id) AS n GROUP BY ALL ORDER BY n DESC, quantity",
    ],
)
def test_the_question_counts_what_the_engine_counts_for_the_text(text: str) -> None:
    statement = read_statement(text, SqlTable("customer_id", "sales"))
    question = Question.from_fields({**statement.fields, "user": "customer_id", "k_bar": 1000})
    histogram = open_source(SALES).top_counts(question)  # type: ignore[attr-defined] # a frame has slots
    connection = duckdb.connect()
    connection.register("sales", SALES)
    expected = connection.execute(text).fetchall()
    counted = {
        label if isinstance(label, tuple) else (label,): count
        for label, count in zip(histogram.items, histogram.counts, strict=True)
        if count
    }
    assert {tuple(row[:-1]): row[-1] for row in expected}.items() <= counted.items()
    assert len(expected) == min(question.k, len(counted))


def test_a_text_is_answered_with_its_own_columns() -> None:
    sales = pd.concat([SALES.assign(customer_id=SALES.customer_id + 60 * copy) for copy in range(60)])
    result = cl.sql(
        "SELECT sku AS thing, COUNT(DISTINCT customer_id) AS buyers FROM sales GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
        sales, user="customer_id", epsilon=20, delta="1e-6", entropy=cl.entropy.replay(b"sql"),
    )  # fmt: skip
    assert result.columns == ("thing", "buyers")
    assert result.answer is not None
    assert [row[0] for row in result.rows] == list(result.answer.listed_items)
    assert [Fraction(row[1]) for row in result.rows] == list(result.answer.counts or ())
    months = cl.sql(
        "SELECT date_trunc('month', day) AS m, country FROM sales GROUP BY 1, 2 ORDER BY country DESC, m LIMIT 4",
        sales, user="customer_id", epsilon=20, delta="1e-6", entropy=cl.entropy.replay(b"sql"),
    )  # fmt: skip
    assert [row[1] for row in months] == sorted((row[1] for row in months), reverse=True)
    assert all(isinstance(row[0], date) and row[0].day == 1 for row in months)
    assert list(months.to_pandas().columns) == ["m", "country"]


def test_groups_are_cut_and_sorted_as_the_text_says() -> None:
    sales = pd.concat([SALES.assign(customer_id=SALES.customer_id + 60 * copy) for copy in range(60)])
    data = cl.connect(sales).dataset("sales", user="customer_id", budget=cl.Budget(epsilon=200, delta="1e-4"))
    ranks = "ROW_NUMBER() OVER (PARTITION BY country ORDER BY COUNT(*) DESC)"
    result = data.sql(
        f"SELECT r, country, sku, n FROM (SELECT country, sku, COUNT(*) n, {ranks} r FROM sales GROUP BY 1, 2) z "
        "WHERE r <= 2 ORDER BY country DESC",
        epsilon=40,
    )
    assert result.answer is not None
    assert set(result.answer.groups) == {"DE", "FR", "US"}
    assert [row[:2] for row in result.rows] == [(1, "US"), (2, "US"), (1, "FR"), (2, "FR"), (1, "DE"), (2, "DE")]
    assert result.notes == ("counts users, not rows",)


def test_nothing_is_charged_for_a_refusal_a_price_or_a_look_around() -> None:
    data = cl.connect(SALES).dataset("sales", user="customer_id", budget=cl.Budget(epsilon=1, delta="1e-6"))
    (line, *_) = data.sql("EXPLAIN SELECT sku FROM sales GROUP BY sku ORDER BY COUNT(*) DESC LIMIT 3").rows
    assert "of the budget" in line[0]
    assert data.sql("SELECT 1").rows == ((1,),)
    assert data.sql("SELECT sku, COUNT(*) FROM sales GROUP BY 1 LIMIT 0").rows == ()
    for text in (
        "SELECT * FROM sales",
        "SELECT nope, COUNT(*) FROM sales GROUP BY 1",
        "SELECT sku FROM other GROUP BY 1",
    ):
        with pytest.raises(cl.errors.QuestionError):
            data.sql(f"SELECT {text}")
    with pytest.raises(cl.errors.QuestionError, match="leave one of them out"):
        data.sql("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) sku FROM sales GROUP BY 1", epsilon=1)
    assert data.ledger.spent().loss == 0
