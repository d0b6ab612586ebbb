"""The filter's language: what is taken, what is refused, and that nothing else ever happens."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crestline.errors import QuestionError
from crestline.sources.expression.where import (
    And,
    Between,
    Compare,
    Condition,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Value,
    parse_filter,
)

TAKEN: dict[str, Condition] = {
    "a = 1": Compare("a", "=", Decimal(1)),
    "1 < a": Compare("a", ">", Decimal(1)),
    "-1.5 >= a": Compare("a", "<=", Decimal("-1.5")),
    "a != 'x'": Compare("a", "<>", "x"),
    "a": Compare("a", "=", True),
    "a = false": Compare("a", "=", False),
    "\"odd \"\"name\" = 'it''s'": Compare('odd "name', "=", "it's"),
    "user = 'x'": Compare("user", "=", "x"),
    "a in ('x', 'y')": In("a", ("x", "y")),
    "a not in (1)": Not(In("a", (Decimal(1),))),
    "a between 1 and 2": Between("a", Decimal(1), Decimal(2)),
    "a like 'x%'": Like("a", "x%"),
    "a not like 'x%'": Not(Like("a", "x%")),
    "a is null": IsNull("a"),
    "a is not null": Not(IsNull("a")),
    "a and b or not c": Or((And((Compare("a", "=", True), Compare("b", "=", True))), Not(Compare("c", "=", True)))),
    "((a = 1e2)) -- a remark": Compare("a", "=", Decimal(100)),
}

REFUSED: dict[str, str] = {
    "": "boolean expression",
    "   ": "boolean expression",
    "a = 1; drop table t": "one boolean expression",
    "a = 1)": "one boolean expression",
    "a =": "one boolean expression",
    "select 1": "SELECT 1",
    "a = (select max(b) from t)": "SELECT MAX",
    "a in (select b from t)": "SELECT b FROM t",
    "exists (select 1)": "EXISTS",
    "a = b": "'b'",
    "t.a = 1": "t.a",
    "length(a) = 1": "LENGTH",
    "pg_sleep(10) is null": "PG_SLEEP",
    "read_csv('/etc/passwd') = 1": "READ_CSV",
    "current_user = 'x'": "CURRENT_USER",
    "a || b = 'x'": "||",
    "a + 1 = 2": "a \\+ 1",
    "a::int = 1": "CAST",
    "case when a then b end": "CASE",
    "a ilike 'x'": "ILIKE",
    "a like 'x!%' escape '!'": "ESCAPE",
    "a like 'x\\%'": "backslash",
    "a like 1": "'1'",
    "a between symmetric 2 and 1": "BETWEEN",
    "a = null": "is null",
    "a is true": "IS TRUE",
    "a = ?": r"\?",
    "a = :x": ":x",
    "a = @x": "@x",
    "a = array[1]": "ARRAY",
    "(a, b) = (1, 2)": r"\(a, b\)",
    "a in ()": "IN",
    "1 = 1": "'1'",
    "true": "TRUE",
    "a = interval '1' day": "INTERVAL",
    "a collate nocase = 'x'": "COLLATE",
    "a = 1 b": "AS b",
    "a = '\0'": "zero byte",
    "a = 1e400": "too large",
    "a = " + "9" * 100: "too long",
    "a = 1 or " * 300 + "a = 1": "more than 200 conditions",
    "(" * 25 + "a" + ")" * 25: "nested deeper",
    "(" * 9_000 + "a" + ")" * 9_000: "one boolean expression",
    "a = 'x' or " * 3_000 + "a": "longer than",
}


@pytest.mark.parametrize("text", TAKEN)
def test_what_is_taken(text: str) -> None:
    assert parse_filter(text) == TAKEN[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_what_is_refused_is_named(text: str) -> None:
    with pytest.raises(QuestionError, match=f"(?i){REFUSED[text]}"):
        parse_filter(text)


def test_a_filter_is_text() -> None:
    with pytest.raises(QuestionError, match="boolean expression"):
        parse_filter(None)  # type: ignore[arg-type] # what a caller without a checker may do


FRAGMENTS = """
    a b "c" 'x' 1 -1 1e9 .5 ( ) , = <> < <= > >= and or not in between like is null true false ; -- /* */ select from
    where union case when then else end cast as over partition interval current_date array [ ] { } : :: ? @ $1 $$ \\
    ' " ` % * + - || ~ ! escape symmetric any all exists values with lateral x'00' N'x' E'x' 0x1 1_0 1.2.3 1e é 😀
"""
WORDS = st.sampled_from([*FRAGMENTS.split(), "\n", "\u00a0"])


@pytest.mark.long
@given(
    st.one_of(
        st.text(max_size=60), st.lists(WORDS, max_size=14).map(" ".join), st.lists(WORDS, max_size=9).map("".join)
    )
)
@example("a = 1.2.3")
@example("a = 1e")
@example("{{ a }}")
def test_any_text_is_a_filter_or_a_refusal(text: str) -> None:
    try:
        tree = parse_filter(text)
    except QuestionError:
        return
    assert parse_filter(written(tree)) == parse_filter(written(parse_filter(written(tree))))


names = st.text(min_size=1, max_size=8).filter(lambda name: "\0" not in name)
numbers = st.decimals(min_value=-(10**12), max_value=10**12, allow_nan=False, places=4)
values: st.SearchStrategy[Value] = st.one_of(
    st.text(max_size=8).filter(lambda text: "\0" not in text), numbers, st.booleans()
)
leaves = st.one_of(
    st.builds(Compare, names, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), values),
    st.builds(In, names, st.lists(values, min_size=1, max_size=3).map(tuple)),
    st.builds(Between, names, values, values),
    st.builds(Like, names, st.text(max_size=6).filter(lambda text: "\0" not in text and "\\" not in text)),
    st.builds(IsNull, names),
)
trees: st.SearchStrategy[Condition] = st.recursive(
    leaves,
    lambda parts: st.one_of(parts.map(Not), st.lists(parts, min_size=2, max_size=3).map(tuple).map(And)),
    max_leaves=8,
)


@pytest.mark.long
@given(trees)
def test_what_is_written_is_what_is_read(tree: Condition) -> None:
    assert flat(parse_filter(written(tree))) == flat(tree)


def written(tree: Condition) -> str:
    """A tree as text."""
    match tree:
        case Not(part):
            return f"not ({written(part)})"
        case And(parts):
            return " and ".join(f"({written(part)})" for part in parts)
        case Or(parts):
            return " or ".join(f"({written(part)})" for part in parts)
        case Compare(name, sign, value):
            return f"{identifier(name)} {sign} {literal(value)}"
        case In(name, values):
            return f"{identifier(name)} in ({', '.join(map(literal, values))})"
        case Between(name, low, high):
            return f"{identifier(name)} between {literal(low)} and {literal(high)}"
        case Like(name, pattern):
            return f"{identifier(name)} like {literal(pattern)}"
        case IsNull(name):
            return f"{identifier(name)} is null"


def flat(tree: Condition) -> Condition:
    """A tree with nested `and` joined, as parentheses mean nothing there."""
    match tree:
        case Not(part):
            return Not(flat(part))
        case And(parts):
            joined: list[Condition] = []
            for part in map(flat, parts):
                joined.extend(part.parts if isinstance(part, And) else [part])
            return And(tuple(joined))
    return tree


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else format(value, "f")
