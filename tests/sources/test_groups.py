"""Groups on random small tables: the engine agrees with plain Python, and one user changes few groups (P15.1)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.sources import open_source
from crestline.sources.engine.runner import Runner
from tests.sources import oracle, oracle_groups
from tests.sources.conformance_groups import KEY, MANY, grouped, observed, tables

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "user": st.none() | st.integers(0, 5),
            "group": st.none() | st.sampled_from(["g", "G", "é", "h"]),
            "item": st.none() | st.sampled_from("abcA"),
        }
    ),
    max_size=60,
)
BOUNDS = st.fixed_dictionaries(
    {
        "groups_per_user": st.integers(1, 3),
        "contribution": st.none() | st.integers(1, 2),
        "floor": st.integers(1, 3),
        "groups": st.none() | st.lists(st.sampled_from(["g", "é", "nobody"]), unique=True),
    }
)


def view(family: dict[Label, Histogram]) -> dict[Label, Any]:
    return {group: oracle.view(part) for group, part in family.items()}


@pytest.mark.long
@settings(max_examples=10, deadline=None)
@given(ROWS, BOUNDS, st.integers(1, 4))
def test_an_engine_and_plain_python_agree(rows: list[oracle.Row], bounds: dict[str, Any], k_bar: int) -> None:
    asked = grouped(k_bar, **bounds)
    kinds = {"user": pa.int64(), "group": pa.string(), "item": pa.string()}
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})
    found = tables(open_source(table), asked)
    assert view(found) == view(oracle_groups.families(rows, asked, KEY, listed=bounds["groups"]))


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(ROWS, BOUNDS, st.integers(0, 5))
def test_one_user_changes_few_groups_by_one_user_each(
    rows: list[oracle.Row], bounds: dict[str, Any], user: int
) -> None:
    """All counts, not only the first: nothing is cut at this many slots."""
    asked = grouped(10, **bounds)
    families = [
        oracle_groups.families(kept, asked, KEY, listed=bounds["groups"])
        for kept in (rows, [row for row in rows if row["user"] != user])
    ]
    with_user, without = ({group: counts(part) for group, part in family.items()} for family in families)
    changed = 0
    for group in with_user.keys() | without.keys():
        more, fewer = with_user.get(group, {}), without.get(group, {})
        moves = [more.get(item, 0) - fewer.get(item, 0) for item in more.keys() | fewer.keys()]
        assert set(moves) <= {0, 1}
        assert bounds["contribution"] is None or sum(moves) <= bounds["contribution"]
        changed += any(moves)
    assert changed <= bounds["groups_per_user"]


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({"contribution": 2, "floor": 2}, (1, 1)),
        ({"contribution": 1, "groups": ["A", "nobody"]}, (6, 4)),
        ({"contribution": 1, "floor": 3}, (6, 4)),
    ],
    ids=str,
)
def test_an_engine_that_keeps_nothing_between_statements_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], weights: tuple[int, ...]
) -> None:
    source, asked = open_source(MANY), grouped(groups_per_user=2, **options)
    statements = list[Any]()
    fetch = Runner.rows
    monkeypatch.setattr(Runner, "has_tables", False)
    monkeypatch.setattr(Runner, "rows", lambda self, asked: statements.append(asked) or fetch(self, asked))
    found = observed(source, asked, weights)
    assert found == oracle_groups.scores(MANY.to_pylist(), asked, KEY, weights, options.get("groups"))
    assert len(statements) == 1 + ("groups" in options)  # a public list holds no private row


def counts(part: Histogram) -> dict[Label, int]:
    return dict(zip(part.items[: part.filled], part.counts, strict=False))


@settings(max_examples=50, deadline=None)
@given(ROWS)
def test_the_same_holds_of_no_rule_that_leaves_groups_unbounded(rows: list[oracle.Row]) -> None:
    """The check has power: without the bound some user changes more groups than one."""
    many = {row["user"]: set[Label]() for row in rows}
    for user, group, _ in oracle_groups.triples(rows, grouped()):
        many[user].add(group)
    unbounded = grouped(10, groups_per_user=9)
    for user, groups in many.items():
        before = oracle_groups.families(rows, unbounded, KEY)
        after = oracle_groups.families([row for row in rows if row["user"] != user], unbounded, KEY)
        changed = {group for group in before if group not in after or counts(before[group]) != counts(after[group])}
        assert changed == (groups if user is not None else set())
