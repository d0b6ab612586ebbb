"""The second half of what every engine must do alike: scores and known domains."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.histogram.histogram import CountHistogram
from crestline.mechanisms.selection import Selection
from crestline.sources.table import TableSource
from tests.sources import oracle
from tests.sources.conformance import DECIMAL, KEY, TEXTS, ask, question
from tests.sources.engines import Engine

SCORED: dict[str, tuple[pa.DataType, list[Any], int, list[int]]] = {
    # type, values of u1 on a, u1 on a again, u2 on a, u1 on b, u3 on c; clip; expected units of a, b, c
    "whole numbers": (pa.int64(), [3, 4, 2, 5, 0], 5, [7, 5, 0]),
    "negative values count as nothing": (pa.int64(), [-3, 4, -(2**63), 2**63 - 1, -1], 5, [4, 5, 0]),
    "a large clip": (pa.int64(), [10**7, 0, 10**6, 1, 5 * 10**6], 10**7, [1_100_000, 0, 500_000]),
    "floats": (pa.float64(), [0.5, 0.25, 1e300, math.inf, math.nan], 4, [1_187_500, 1_000_000, 0]),
    "floats, none usable": (pa.float64(), [None, math.nan, -math.inf, -0.0, None], 4, [0, 0, 0]),
    "decimals": (DECIMAL, [Decimal("0.5"), Decimal("0.25"), Decimal(9), Decimal("1e-6"), None], 4, [1_187_500, 0, 0]),
    "a clip beyond the column's type": (pa.int16(), [3, 4, 32767, -32768, 0], 40_000, [32_774, 0, 0]),
    "a clip beyond all columns": (pa.int16(), [3, 4, 32767, -32768, 0], 2**63 - 1, [0, 0, 0]),
    "the largest clip": (pa.int64(), [2**63 - 1, 2**63 - 1, 2**62, -(2**63), 0], 2**63 - 1, [1_500_000, 0, 0]),
    "decimals of 38 digits": (
        pa.decimal128(38, 0), [Decimal(10**38 - 1), Decimal(1), Decimal(2), Decimal(1 - 10**38), Decimal(3)], 4,
        [1_500_000, 0, 750_000],
    ),
    "decimals of 38 digits after the point": (
        pa.decimal128(38, 38), [Decimal("0.5"), Decimal("0.25"), Decimal(f"{10**38 - 1}e-38"), Decimal("1e-38"), None],
        1, [1_750_000, 0, 0],
    ),
}  # fmt: skip


def multiplicities(places: dict[tuple[int, int], Any]) -> dict[int, int]:
    return dict(Counter(count for count, _ in places))


def groups(histogram: object) -> dict[int, int]:
    assert isinstance(histogram, CountHistogram)
    values, sizes = histogram.distinct_counts
    return dict(zip(values.tolist(), sizes, strict=True))


class ScoreConformance:
    """Inherit, and provide `engine`."""

    @pytest.mark.parametrize("case", SCORED)
    def test_sums_are_clipped_per_user_and_item(self, engine: Engine, case: str) -> None:
        kind, values, clip, expected = SCORED[case]
        table = pa.table(
            {"user": ["u1", "u1", "u2", "u1", "u3"], "item": ["a", "a", "a", "b", "c"], "v": pa.array(values, kind)}
        )
        histogram = ask(engine.source(table), question(3, score="sum(v)", clip=clip))
        found = dict(zip(histogram.items, histogram.counts, strict=True))
        assert [found.get(item, 0) for item in "abc"] == expected
        assert histogram.unit == (clip if pa.types.is_integer(kind) and clip <= 10**6 else 10**6)

    def test_a_score_with_a_contribution_bound(self, engine: Engine) -> None:
        table = pa.table({"user": [1] * 6, "item": list("abcdef"), "v": [1, 2, 3, 4, 5, 0]})
        asked = question(6, score='sum("v")', clip=9, contribution=2)
        kept = oracle.bounded({(1, item) for item in "abcde"}, 2, KEY)  # what adds nothing takes no place
        values = dict(zip("abcdef", table["v"].to_pylist(), strict=True))
        histogram = ask(engine.source(table), asked)
        assert dict(zip(histogram.items[:2], histogram.counts, strict=False)) == {i: values[i] for _, i in kept}

    @pytest.mark.parametrize("way", ["list", "table", "column", "arrow"])
    @pytest.mark.parametrize("contribution", [None, 2])
    def test_a_public_list(self, engine: Engine, way: str, contribution: int | None) -> None:
        domain = [*TEXTS, "never seen", "nor this"]
        rows = [(user, TEXTS[i]) for user in range(12) for i in range(0, len(TEXTS), 1 + user % 4)]
        rows += [(user, "outside") for user in range(12)]
        table = pa.table({"user": [user for user, _ in rows], "item": [item for _, item in rows]})
        catalogue = pa.table({"item": pa.array([*domain, "a", None], pa.string()), "other": [1] * (len(domain) + 2)})
        source = engine.source(table, catalogue=catalogue)
        assert isinstance(source, TableSource)
        given: Any = {"list": domain, "table": "catalogue", "column": "catalogue.item", "arrow": catalogue}[way]
        asked = question(contribution=contribution)
        inside = {(user, item) for user, item in rows if item in domain}
        places = oracle.places(oracle.counts(oracle.bounded(inside, contribution, KEY)), domain)
        picks = tuple(sorted(places)[::-3])
        with source.reading(replace(asked, domain=given), KEY) as reading:
            assert groups(reading.histogram) == multiplicities(places)
            assert reading.label_items(Selection(picks, False)).items == tuple(places[pick] for pick in picks)
            assert reading.label_items(Selection((), True)).items == ()

    def test_a_domain_of_several_columns(self, engine: Engine) -> None:
        table = pa.table({"user": [1, 2, 3], "item": ["a", "a", "b"], "n": [1, 1, 2]})
        source = engine.source(table)
        assert isinstance(source, TableSource)
        asked, domain = question(item=("item", "n")), [("a", 1), ("b", 2), ("b", 3), ("é", 0)]
        with source.reading(replace(asked, domain=domain), KEY) as reading:
            assert groups(reading.histogram) == {2: 1, 1: 1, 0: 2}
            named = reading.label_items(Selection(((0, 1), (2, 0), (0, 0)), False))
            assert named.items == (("é", 0), ("a", 1), ("b", 3))
            counts = tuple(map(Fraction, (7, 8, 9)))  # of a set they are in the order of its items
            named = reading.label_items(Selection(frozenset({(0, 1), (2, 0), (0, 0)}), False, counts))
            assert named == Selection(frozenset({("é", 0), ("a", 1), ("b", 3)}), False, tuple(map(Fraction, (9, 7, 8))))

    def test_sums_over_a_public_list_are_named_and_in_their_units(self, engine: Engine) -> None:
        table = pa.table({"user": [1, 2, 3], "item": ["a", "a", "b"], "v": [2.5, 1.0, 9.0]})
        asked, domain = question(score="sum(v)", clip=4), ["a", "b", "c"]
        with engine.source(table).reading(replace(asked, domain=domain), KEY) as reading:
            assert groups(reading.histogram) == {1_000_000: 1, 875_000: 1, 0: 1}
            named = reading.label_items(
                Selection(((1_000_000, 0), (0, 0)), False, (Fraction(1_000_000), Fraction(-250_000)))
            )
            assert named == Selection(("b", "c"), False, (Fraction(4), Fraction(-1)))

    def test_an_empty_domain(self, engine: Engine) -> None:
        source = engine.source(pa.table({"user": [1], "item": ["a"]}))
        assert isinstance(source, TableSource)
        with source.reading(question(domain=[]), KEY) as reading:
            assert groups(reading.histogram) == {}

    def test_a_domain_of_the_wrong_type_is_refused(self, engine: Engine) -> None:
        source = engine.source(pa.table({"user": [1], "item": ["a"]}), numbers=pa.table({"item": [1]}))
        assert isinstance(source, TableSource)
        for domain in ([1, 2], "numbers", "numbers.item", "numbers.nope", "nowhere", 3):
            with pytest.raises(QuestionError):
                source.check(question(domain=domain))
