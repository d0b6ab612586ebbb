"""SQL texts as people and tools write them, and the question that each is; or why it is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.errors import QuestionError
from crestline.periods.calendar import Calendar
from crestline.sql_questions.reader import COUNTS_USERS, SqlTable
from crestline.sql_questions.refusals import SqlError
from crestline.sql_questions.statement import LONGEST, MOST_ITEMS, Kind, Role, Statement, read_statement

COLUMNS = ("customer_id", "sku", "category", "brand", "country", "day", "price", "quantity")
SALES = SqlTable("customer_id", "sales", COLUMNS, {"quantity": 10})


def read(text: str, *parameters: Any, **options: Any) -> Statement:
    return read_statement(text, SALES, parameters=parameters, **options)


ALL: dict[str, Any] = {"k": MOST_ITEMS, "item": ["sku"], "counts": True}
QUESTIONS: dict[str, dict[str, Any]] = {
    "SELECT sku, COUNT(DISTINCT customer_id) FROM sales GROUP BY sku ORDER BY 2 DESC LIMIT 10": {**ALL, "k": 10},
    "select sku from sales group by sku order by count(distinct customer_id) desc limit 10": {"k": 10, "item": ["sku"]},
    "SELECT sku FROM sales GROUP BY sku": {"k": MOST_ITEMS, "item": ["sku"], "ordered": False},
    "SELECT sku, COUNT(*) FROM public.sales GROUP BY 1 LIMIT 1000001": ALL,
    'SELECT "sku" AS "sku", count(1) AS n FROM "public"."sales" GROUP BY "sku" ORDER BY n DESC': ALL,
    "SELECT `sku`, COUNT(*) FROM `sales` GROUP BY 1 ORDER BY 2 DESC LIMIT 2": {**ALL, "k": 2},
    "SELECT s.sku, COUNT(*) FROM sales AS s WHERE s.price > 3 GROUP BY s.sku": {**ALL, "where": "price > 3"},
    "SELECT SKU, SUM(1) FROM SALES GROUP BY SKU HAVING (COUNT(1) > 0)": ALL,
    "SELECT sku, COUNT(*) FROM sales WHERE 1 = 1 AND customer_id IS NOT NULL GROUP BY 1": ALL,
    "SELECT sku, SUM(quantity) t FROM sales GROUP BY 1 ORDER BY t DESC LIMIT 3": {
        **ALL, "k": 3, "score": "sum(quantity)", "clip": 10,
    },
    "SELECT sku, SUM(price, contribution_bounds_per_group => (0, 20)) t FROM sales GROUP BY 1 ORDER BY t DESC": {
        **ALL, "score": "sum(price)", "clip": 20,
    },
    "SELECT sku AS thing, n FROM (SELECT sku, COUNT(*) n FROM sales GROUP BY 1) x ORDER BY thing": ALL,
    "SELECT sku, COUNT(*) FROM (SELECT * FROM sales WHERE country = 'DE') AS v GROUP BY sku": {
        **ALL, "where": "country = 'DE'",
    },
    "WITH x AS (SELECT sku AS s, customer_id AS c FROM sales) SELECT s, COUNT(DISTINCT c) FROM x GROUP BY s LIMIT 5": {
        **ALL, "k": 5,
    },
    "SELECT floor(price / 10) * 10 AS b, COUNT(*) FROM sales GROUP BY b": {**ALL, "item": ["bucket(price, 10)"]},
    "SELECT extract(month FROM day), count(*) FROM sales GROUP BY 1": {**ALL, "item": ["month(day)"]},
    "SELECT lower(sku), left(brand, 2), count(*) FROM sales GROUP BY 1, 2": {
        **ALL, "item": ["lower(sku)", "prefix(brand, 2)"],
    },
    "SELECT day::date, count(*) FROM sales GROUP BY 1": {**ALL, "item": ["date(day)"]},
    "SELECT brand, count(*) FROM sales WHERE day >= TO_DATE('2026-03-01', 'YYYY-MM-DD') GROUP BY 1": {
        **ALL, "item": ["brand"], "where": "day >= '2026-03-01'",
    },
    "SELECT sku, count(*) FROM sales WHERE country = 'O''Brien' OR country IN ('a', 'b') -- c\n GROUP BY 1": {
        **ALL, "where": "(country = 'O''Brien' or country in ('a', 'b'))",
    },
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta=1e-9, max_groups_contributed=3) sku, COUNT(*) "
    "FROM sales GROUP BY 1": {**ALL, "epsilon": "1", "delta": "1e-9", "contribution": 3},
    "SELECT category, sku, n FROM (SELECT category, sku, COUNT(*) n, ROW_NUMBER() OVER (PARTITION BY category "
    "ORDER BY COUNT(*) DESC) r FROM sales GROUP BY 1, 2) z WHERE r <= 3": {**ALL, "k": 3, "by": ["category"]},
    "SELECT category, sku, COUNT(*) n FROM sales GROUP BY 1, 2 "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY category ORDER BY n DESC) < 3": {**ALL, "k": 2, "by": ["category"]},
    "WITH a AS (SELECT category, sku, COUNT(*) n FROM sales GROUP BY 1, 2), b AS (SELECT *, ROW_NUMBER() OVER "
    "(PARTITION BY category ORDER BY n DESC) rk FROM a) SELECT category, sku FROM b WHERE rk BETWEEN 1 AND 4": {
        "k": 4, "item": ["sku"], "by": ["category"],
    },
    # as tools write them
    'select "_"."brand" as "c1", "_"."a0" as "a0" from (select "rows"."brand" as "brand", count(distinct("rows".'
    '"customer_id")) as "a0" from (select "brand", "customer_id" from "public"."sales" "$Table") "rows" group by '
    '"brand") "_" where not "_"."a0" is null limit 1000001': {**ALL, "item": ["brand"]},
    'SELECT "sales"."country" AS "country", SUM(1) AS "cnt:ok" FROM "public"."sales" "sales" WHERE (("sales"."day" >= '
    "(DATE '2026-01-01')) AND (\"sales\".\"day\" <= (DATE '2026-12-31'))) GROUP BY 1": {
        **ALL, "item": ["country"], "where": "day >= '2026-01-01' AND day <= '2026-12-31'",
    },
    "SELECT (DATE_TRUNC('MONTH', CAST(day AS TIMESTAMP WITHOUT TIME ZONE))) AS m, COUNT(*) FROM sales GROUP BY 1": {
        **ALL, "item": ["year(day)", "month(day)"],
    },
    "SELECT brand, COUNT(*) AS count FROM sales WHERE day < TO_TIMESTAMP('2026-07-01 00:00:00.000000', "
    "'YYYY-MM-DD HH24:MI:SS.US') GROUP BY 1": {**ALL, "item": ["brand"], "where": "day < '2026-07-01 00:00:00'"},
    'SELECT CAST(EXTRACT(month FROM "sales"."day") AS integer) AS "day", COUNT(*) FROM "sales" GROUP BY '
    'CAST(EXTRACT(month FROM "sales"."day") AS integer)': {**ALL, "item": ["month(day)"]},
    "SELECT FLOOR(((price) / 10.0)) * 10.0 AS price, COUNT(*) FROM sales GROUP BY FLOOR(((price) / 10.0)) * 10.0": {
        **ALL, "item": ["bucket(price, 10)"],
    },
    "SELECT s.brand AS b, COUNT(*) c FROM sales AS s WHERE (s.country ) = 'DE' GROUP BY 1 FETCH NEXT 50 ROWS ONLY": {
        **ALL, "k": 50, "item": ["brand"], "where": "country = 'DE'",
    },
    "WITH r AS (SELECT category, sku, COUNT(*) n, ROW_NUMBER() OVER (PARTITION BY category ORDER BY COUNT(*) DESC) rn "
    "FROM sales GROUP BY 1, 2) SELECT category, sku, n FROM r WHERE rn <= 3 ORDER BY category, rn;": {
        **ALL, "k": 3, "by": ["category"],
    },
    "SELECT brand, n FROM (SELECT brand, count(distinct(customer_id)) AS n FROM sales WHERE country = 'DE'::VARCHAR "
    "GROUP BY brand ORDER BY n DESC LIMIT 4::INTEGER) AS anon_1": {
        **ALL, "k": 4, "item": ["brand"], "where": "country = 'DE'",
    },
    "FROM sales SELECT brand, count(DISTINCT customer_id) AS n GROUP BY ALL ORDER BY n DESC LIMIT 5": {
        **ALL, "k": 5, "item": ["brand"],
    },
}  # fmt: skip


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_text_is_the_question_that_a_person_would_write(text: str) -> None:
    statement = read(text)
    assert statement.kind is Kind.ASK
    assert statement.fields == QUESTIONS[text]


REFUSALS = {
    "SELECT * FROM sales": ("42501", "rows are not shown"),
    "SELECT sku FROM sales LIMIT 10": ("42501", "rows are not shown"),
    "SELECT DISTINCT brand FROM sales": ("42501", "list of values"),
    "SELECT customer_id, COUNT(*) FROM sales GROUP BY 1": ("42501", "holds the user"),
    "SELECT sku, COUNT(*) FROM sales WHERE customer_id = 5 GROUP BY 1": ("42501", "holds the user"),
    "WITH x AS (SELECT sku, customer_id c FROM sales) SELECT c, COUNT(*) FROM x GROUP BY 1": ("42501", "holds the"),
    "SELECT nope, COUNT(*) FROM sales GROUP BY 1": ("42703", "no column 'nope'"),
    "SELECT sku, COUNT(*) FROM nowhere GROUP BY 1": ("42P01", "that you may ask"),
    "SELECT sku, COUNT(*) FROM other.sales GROUP BY 1": ("42P01", "that you may ask"),
    "SELECT x.sku, COUNT(*) FROM sales GROUP BY 1": ("42P01", "no table 'x'"),
    "DELETE FROM sales": ("25006", "nothing is written"),
    "CREATE TABLE x AS SELECT 1": ("25006", "nothing is written"),
    "SELECT COUNT(*) FROM sales; SELECT 1": ("42601", "one statement"),
    "SELECT sku COUNT( FROM": ("42601", "could not be read"),
    "SELECT": ("42601", "names no column"),
    "SELECT COUNT(DISTINCT customer_id) FROM sales": ("0A000", "total over all rows"),
    "SELECT sku, COUNT(*) FROM sales JOIN p USING (sku) GROUP BY 1": ("0A000", "join"),
    "SELECT sku, COUNT(*) FROM sales TABLESAMPLE (1) GROUP BY 1": ("0A000", "SAMPLE"),
    "SELECT sku, AVG(price) FROM sales GROUP BY 1": ("0A000", "low and high"),
    "SELECT sku, MAX(price) FROM sales GROUP BY 1": ("0A000", "ranked by COUNT"),
    "SELECT sku, COUNT(DISTINCT country) FROM sales GROUP BY 1": ("0A000", "ranked by COUNT"),
    "SELECT sku, COUNT(*) FILTER (WHERE price > 3) FROM sales GROUP BY 1": ("0A000", "ranked by COUNT"),
    "SELECT sku, COUNT(*), SUM(quantity) FROM sales GROUP BY 1": ("0A000", "by one number"),
    "SELECT sku, COUNT(*) n FROM sales GROUP BY 1 ORDER BY n": ("0A000", "least popular"),
    "SELECT sku, COUNT(*) n FROM sales GROUP BY 1 ORDER BY n DESC LIMIT 5 OFFSET 5": ("0A000", "OFFSET"),
    "SELECT sku, COUNT(*) FROM sales GROUP BY 1 HAVING COUNT(*) >= 50": ("0A000", "leave HAVING out"),
    "SELECT s FROM (SELECT sku s, COUNT(*) n FROM sales GROUP BY 1) x WHERE s = 'a'": ("0A000", "inner query"),
    "SELECT sku, COUNT(*) FROM sales WHERE day > now() - interval '7 day' GROUP BY 1": ("0A000", "moment to moment"),
    "SELECT sku, COUNT(*) FROM sales WHERE sku IN (SELECT sku FROM sales) GROUP BY 1": ("0A000", "one row by itself"),
    "SELECT sku, COUNT(*) FROM sales WHERE sku ILIKE 'a%' GROUP BY 1": ("0A000", "where may not contain"),
    "SELECT category, sku, RANK() OVER (ORDER BY COUNT(*) DESC) FROM sales GROUP BY 1, 2": ("0A000", "ROW_NUMBER"),
    "SELECT sku, COUNT(*) FROM sales GROUP BY 1 UNION SELECT 'a', 2": ("0A000", "one SELECT"),
    "SELECT CASE WHEN price > 3 THEN 'a' END, COUNT(*) FROM sales GROUP BY 1": ("0A000", "labels are columns"),
    "SELECT date_trunc('week', day), COUNT(*) FROM sales GROUP BY 1": ("0A000", "year, quarter, month or day"),
    "SELECT TO_CHAR(day, 'YYYY-MM'), COUNT(*) FROM sales GROUP BY 1": ("0A000", "date_trunc"),
    "SELECT sku, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () FROM sales GROUP BY 1": ("0A000", "labels are columns"),
    "SELECT TOP 10 sku, COUNT(*) FROM sales GROUP BY 1": ("42601", "could not be read"),
    "SELECT COUNT(*) FROM sales GROUP BY sku": ("0A000", "select it"),
    "SELECT sku, brand, COUNT(*) FROM sales GROUP BY sku": ("42803", "add it to GROUP BY"),
    "SELECT sku, COUNT(*) FROM sales WHERE country = $1 GROUP BY 1": ("42601", "no value"),
    "SELECT sku, COUNT(*) AS sku FROM sales GROUP BY 1": ("42601", "same name"),
    "SELECT sku, COUNT(*) FROM sales GROUP BY 1 ORDER BY 9": ("42601", "2 selected columns"),
    "EXPLAIN ANALYZE SELECT sku, COUNT(*) FROM sales GROUP BY 1": ("0A000", "no options"),
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise=9) sku, COUNT(*) FROM sales GROUP BY 1": ("0A000", "options are"),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_what_is_no_question_is_refused_with_its_state_and_what_to_write(text: str) -> None:
    state, words = REFUSALS[text]
    with pytest.raises(SqlError, match=words) as refusal:
        read(text)
    assert refusal.value.sqlstate == state
    assert str(refusal.value).isprintable()


def test_explain_asks_for_a_price() -> None:
    statement = read("explain SELECT sku FROM sales GROUP BY sku ORDER BY COUNT(*) DESC LIMIT 3")
    assert (statement.kind, statement.fields) == (Kind.PRICE, {"k": 3, "item": ["sku"]})


@pytest.mark.parametrize(
    ("text", "constants"),
    [
        ("SELECT 1", (1,)),
        ("SELECT 'a' AS x, 2.5", ("a", 2.5)),
        ("SELECT sku, COUNT(*) FROM sales GROUP BY 1 LIMIT 0", None),
        ("SELECT * FROM (SELECT sku, COUNT(*) FROM sales WHERE 1 = 0 GROUP BY 1) x", None),
    ],
)
def test_what_tools_send_to_look_around_asks_nothing(text: str, constants: tuple[object, ...] | None) -> None:
    statement = read(text)
    assert (statement.kind, statement.constants) == (Kind.NOTHING, constants)


def test_columns_know_what_they_show() -> None:
    statement = read(
        "SELECT date_trunc('month', day) m, category c, sku s, COUNT(*) n, ROW_NUMBER() OVER (PARTITION BY category "
        "ORDER BY COUNT(*) DESC) r FROM sales GROUP BY 1, 2, 3 ORDER BY c, m DESC"
    )
    shown = [(column.name, column.role, column.parts, column.truncated_to) for column in statement.columns]
    assert statement.fields["item"] == ["year(day)", "month(day)", "category", "sku"]
    assert shown == [
        ("m", Role.ITEM, (0, 1), "month"), ("c", Role.ITEM, (2,), ""), ("s", Role.ITEM, (3,), ""),
        ("n", Role.NUMBER, (), ""), ("r", Role.RANK, (), ""),
    ]  # fmt: skip
    assert statement.sort == ((1, False), (0, True))
    assert statement.notes == (COUNTS_USERS,)


def test_a_limit_after_a_sort_by_labels_cuts_rows_and_not_the_question() -> None:
    inner = "SELECT sku, COUNT(*) n FROM sales GROUP BY sku ORDER BY n DESC LIMIT 10"
    by_label = read("SELECT sku, COUNT(*) n FROM sales GROUP BY sku ORDER BY sku LIMIT 10")
    assert (by_label.fields["k"], by_label.limit) == (MOST_ITEMS, 10)
    sorted_later = read(f"SELECT * FROM ({inner}) x ORDER BY sku")
    assert (sorted_later.fields["k"], sorted_later.sort) == (10, ((0, False),))
    assert read(f"SELECT sku AS thing FROM ({inner}) x LIMIT 4").fields == {"k": 4, "item": ["sku"]}


def test_parameters_are_values_and_never_words() -> None:
    text = "SELECT sku, COUNT(*) n FROM sales WHERE country = $1 GROUP BY 1 ORDER BY n DESC LIMIT $2"
    statement = read(text, "x' OR '1' = '1", 3)
    assert (statement.fields["where"], statement.fields["k"]) == ("country = 'x'' OR ''1'' = ''1'", 3)
    assert read("SELECT sku FROM sales WHERE price > ? GROUP BY sku", 5).fields["where"] == "price > 5"


@pytest.mark.parametrize(
    ("where", "periods"),
    [
        ("day >= '2026-10-01' AND day < '2026-12-01'", {"since": "2026-10", "until": "2026-11"}),
        ("day BETWEEN '2026-10-01' AND '2026-10-31'", {"since": "2026-10", "until": "2026-10"}),
        ("day >= date '2026-09-01'", {"since": "2026-09"}),
    ],
)
def test_bounds_on_the_time_of_the_budget_name_its_periods(where: str, periods: dict[str, str]) -> None:
    text = f"SELECT sku, COUNT(*) FROM sales WHERE {where} AND country = 'DE' GROUP BY 1"
    assert read(text, calendar=Calendar("month", "day")).fields == {**ALL, "where": "country = 'DE'", **periods}


@pytest.mark.parametrize("where", ["day >= '2026-10-02'", "day < '2026-10-01'", "day = '2026-10-01'", "day > 'x'",
                                   "day >= '2026-10-01' OR country = 'DE'"])  # fmt: skip
def test_other_conditions_on_the_time_of_the_budget_are_refused(where: str) -> None:
    with pytest.raises(QuestionError, match=r"month"):
        read(f"SELECT sku, COUNT(*) FROM sales WHERE {where} GROUP BY 1", calendar=Calendar("month", "day"))


def test_a_long_or_deep_text_is_refused() -> None:
    with pytest.raises(SqlError, match="at most"):
        read("x" * (LONGEST + 1))
    with pytest.raises(SqlError):
        read("SELECT sku FROM sales WHERE " + "(" * 5_000 + "1" + ")" * 5_000)


def _words(text: str) -> list[str]:
    return text.replace("(", " ( ").replace(")", " ) ").split()


_WORDS = sorted({word for text in [*QUESTIONS, *REFUSALS] for word in _words(text)})


@pytest.mark.long
@settings(max_examples=300)
@given(st.data())
def test_no_text_ends_in_anything_but_a_question_or_a_refusal(data: st.DataObject) -> None:
    words = _words(data.draw(st.sampled_from(sorted(QUESTIONS))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(words) - 1))
        words[place : place + data.draw(st.integers(0, 2))] = data.draw(st.lists(st.sampled_from(_WORDS), max_size=2))
        words = words or ["SELECT"]
    try:
        statement = read(" ".join(words), 1, "a")
    except QuestionError as refusal:
        said = str(refusal)
    else:
        said = str(statement.columns)
    assert said.isprintable()
