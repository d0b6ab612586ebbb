"""Two mechanisms that differ never look alike: otherwise one would be served the other's stored answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import crestline as cl
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.mechanisms.identity import _shortest_text, identity, parameter_texts
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import Entropy


class Loose:
    """A mechanism that says nothing about itself: the items it names are its parameter."""

    k = 1

    def __init__(self, item: str) -> None:
        self.item = item

    def guarantee(self) -> Any:
        return cl.PureDP(Fraction(1, 100))

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection((self.item,), False)


class Stating(Loose):
    @property
    def parameters(self) -> dict[str, Any]:
        return {"item": self.item}


@dataclass(frozen=True)
class Plain:
    item: Any
    k: int = 1

    guarantee = Loose.guarantee
    release = Loose.release  # type: ignore[assignment] # the same two methods


class Beneath(Plain):
    def __init__(self, item: str, more: str) -> None:
        super().__init__(item)
        self.__dict__["more"] = more


@dataclass(frozen=True)
class Remembering(Plain):
    @cached_property
    def computed(self) -> int:
        return len(str(self.item))


def wrapped(inner: Any) -> Any:
    return cl.mechanisms.NoisyCounts(inner, scale=1)


@pytest.mark.parametrize(
    "line", [line for line in CATALOGUE if hasattr(line.load(), "for_budget")], ids=lambda x: x.name
)
def test_mechanisms_of_the_catalogue_are_told_by_what_is_shown(line: Any) -> None:
    if line.name == "Restricted":
        made = line.load()(cl.mechanisms.Lipschitz(2, 1), 6, cl.mechanisms.JointTest(1, "1e-6"))
    else:
        bound = 5 if line.contribution == "bounded" else None
        made = line.load().for_budget(k=2, k_bar=6, epsilon=1, delta="1e-6", contribution=bound)
    assert identity(made) == parameter_texts(made)
    assert parameter_texts(made)


@pytest.mark.parametrize("wrap", [lambda inner: inner, wrapped, Plain, lambda inner: Plain((wrapped(inner),))])
def test_what_says_nothing_has_no_identity(wrap: Any) -> None:
    assert identity(wrap(Loose("a"))) is None


@pytest.mark.parametrize(
    "mechanism",
    [Beneath("a", "b"), Plain(object()), Plain(lambda: 3), Plain([1, {2: object()}]), Plain({object()})],
)
def test_what_its_fields_do_not_describe_has_no_identity(mechanism: Any) -> None:
    assert identity(mechanism) is None


def test_parts_that_hold_each_other_have_no_identity() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert identity(Plain(ring)) is None


def test_plain_values_tell_mechanisms_apart() -> None:
    values: list[Any] = [
        "1",
        1,
        1.0,
        True,
        None,
        False,
        b"1",
        Fraction(1),
        (1,),
        [1],
        {1: 1},
        {1},
        ("1",),
        [],
        (),
        "[]",
    ]
    values += [
        cl.mechanisms.Lipschitz(1, 1),
        cl.mechanisms.Lipschitz(1, 2),
        Plain(1),
        Plain(2),
        Stating("a"),
    ]
    texts = [identity(Plain(value)) for value in values]
    assert None not in texts
    assert len({str(text) for text in texts}) == len(texts)


def test_the_class_is_part_of_an_identity() -> None:
    same_name: Any = dataclass(frozen=True)(
        type("Lipschitz", (Plain,), {"__module__": "elsewhere", "__annotations__": {}})
    )
    first, second = identity(same_name("a")), identity(Plain("a"))
    assert first is not None
    assert second is not None
    assert first != second
    assert identity(wrapped(Plain("a"))) != identity(wrapped(Plain("b"))) != identity(wrapped(same_name("b")))


def test_what_is_stated_is_shown_and_tells_apart() -> None:
    assert parameter_texts(Stating("tea")) == {"item": "tea"}
    assert identity(Stating("tea")) == identity(Stating("tea"))
    assert identity(Stating("tea")) != identity(Stating("milk"))


def test_a_cached_property_is_no_hidden_parameter() -> None:
    made = Remembering("a")
    before = identity(made)
    assert made.computed == 1
    assert before is not None
    assert before == identity(made)


def test_fractions_are_shown_exactly() -> None:
    assert _shortest_text(Fraction(865708256752521, 10**14)) == "8.65708256752521"
    assert _shortest_text(Fraction(1, 3)) == "1/3"


@pytest.fixture
def shop(tmp_path: Path) -> Any:
    path = tmp_path / "shop.csv"
    path.write_text("user,item\nu1,tea\nu2,tea\nu3,milk\n")
    budget = (
        cl.Budget.approx_dp(epsilon=5, delta="1e-6")
        if hasattr(cl.Budget, "approx_dp")
        else cl.Budget(epsilon=5, delta="1e-6")
    )
    return cl.connect(str(path), ledger=tmp_path / "ledger.db").dataset("shop", user="user", budget=budget)


@pytest.mark.parametrize(("kind", "again"), [(Loose, False), (Stating, True), (Plain, True)])
def test_a_stored_answer_is_served_to_its_own_mechanism_only(shop: Any, kind: Any, again: bool) -> None:
    """Two different instances without parameters were one question: the second was served the answer of the first."""

    def named(item: str) -> Any:
        return shop.top(k=1, k_bar=1, item="item", mechanism=kind(item))

    assert named("tea").items == ("tea",)
    assert named("milk").items == ("milk",)
    repeated = named("tea")
    assert (repeated.items, repeated.stored) == (("tea",), again)
    assert shop.price(k=1, k_bar=1, item="item", mechanism=kind("tea")).stored == again
