"""Somebody else's mechanism is wrapped once: what it states is seen through the wrapper, the rest is None."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import crestline as cl
from crestline.errors import MechanismError, ParameterError
from crestline.guarantees.cost import Cost, repeat_step
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable, ListedTable
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.observed_table import ObservedTable
from crestline.histogram.relation import PairViews, Relation
from crestline.histogram.view_kinds import PAIRS
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.mechanisms.identity import identity, parameter_texts
from crestline.mechanisms.mechanism import AnyMechanism, BuiltIn, Catalogued
from crestline.mechanisms.nested import nested_mechanisms, smallest_contribution
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.third_party import (
    AdoptedMechanism,
    adopt,
    adopt_slot_mechanism,
    domain_of,
    release_many_or_none,
    unwrap_adopted,
)
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import Entropy, replay

ABILITIES = ("k", "k_bar", "contribution", "domain", "law", "length_law", "margin", "spread")
HISTOGRAM = Histogram.from_counts({"a": 30, "b": 20, "c": 10}, 2)


class TwoMethods:
    """All that a third party must write."""

    def guarantee(self) -> Any:
        return cl.PureDP(Fraction(1, 2), theorem="mine")

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection(("a",), False)


@dataclass(frozen=True)
class Stating(TwoMethods):
    """States whatever can be stated."""

    k: int = 1
    k_bar: int = 2
    contribution: int | None = 3
    domain: str = "unknown"
    slack: Any = "1e-9"
    counts: bool = True

    def cost(self) -> Cost:
        return repeat_step(cl.PureDP(Fraction(1, 4)), 2)

    def settlement_cost(self, selection: Selection) -> Cost:
        return repeat_step(cl.PureDP(Fraction(1, 4)), len(selection))

    def law(self, histogram: Histogram) -> dict[Selection, float]:
        return {Selection(("a",), False): 1.0}

    def length_law(self, histogram: Histogram) -> list[float]:
        return [0.0, 1.0]

    def margin(self, chance: float = 0.95) -> float:
        return 10 * chance

    def spread(self, chance: float = 0.95) -> float:
        return 20 * chance

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        return [Selection(("many",), False)] * n


class OwnRelease(Stating):
    """Redefines `release` beneath the `release_many` that it inherits."""

    def release(self, histogram: Histogram, entropy: Entropy) -> Selection:
        return Selection(("own",), False)


def made(line: Any) -> Any:
    if line.name == "Restricted":
        return line.load()(cl.mechanisms.Lipschitz(2, 1), 6, cl.mechanisms.JointTest(1, "1e-6"))
    bound = 3 if line.name == "Observed" else None  # it puts noise on every observed item, and needs a bound
    return line.load().for_budget(k=2, k_bar=6, epsilon=1, delta="1e-6", contribution=bound)


@pytest.mark.parametrize("line", [line for line in CATALOGUE if line.selects_items], ids=lambda line: line.name)
def test_a_mechanism_of_the_catalogue_is_taken_as_it_is(line: Any) -> None:
    mechanism = made(line)
    assert isinstance(mechanism, AnyMechanism)
    assert adopt(mechanism) is mechanism
    assert unwrap_adopted(mechanism) is mechanism
    assert mechanism.domain == line.domain == domain_of(mechanism)
    for name in ABILITIES:
        assert hasattr(mechanism, name)


def test_the_catalogue_says_which_mechanisms_select() -> None:
    for line in CATALOGUE:
        assert line.selects_items == hasattr(line.load(), "for_budget")


def test_what_a_mechanism_does_not_state_is_none() -> None:
    adopted = adopt(TwoMethods())
    assert [getattr(adopted, name) for name in ABILITIES] == [None] * len(ABILITIES)
    assert (adopted.slack, adopted.counts) == (0, False)
    assert adopted.cost() == repeat_step(cl.PureDP(Fraction(1, 2), theorem="mine"))
    assert adopted.settlement_cost(Selection((), True)) == adopted.cost()
    assert adopted.guarantee() == TwoMethods().guarantee()
    assert adopted.selecting_mechanism is adopted


def test_what_a_mechanism_states_is_seen_through_the_wrapper() -> None:
    mechanism = Stating()
    adopted = adopt(mechanism)
    for name in ("k", "k_bar", "contribution", "domain", "counts"):
        assert getattr(adopted, name) == getattr(mechanism, name)
    assert adopted.slack == Fraction(1, 10**9)
    assert adopted.cost() == mechanism.cost()
    assert adopted.settlement_cost(Selection(("a",), False)) == repeat_step(cl.PureDP(Fraction(1, 4)), 1)
    assert adopted.law is not None
    assert adopted.law(HISTOGRAM) == mechanism.law(HISTOGRAM)
    assert adopted.length_law is not None
    assert adopted.length_law(HISTOGRAM) == [0.0, 1.0]
    assert adopted.margin is not None
    assert adopted.margin(0.5) == 5
    assert adopted.spread is not None
    assert adopted.spread() == 19


def test_a_release_is_that_of_the_original() -> None:
    assert adopt_slot_mechanism(TwoMethods()).release(HISTOGRAM, replay(0)).items == ("a",)
    assert [one.items for one in adopt_slot_mechanism(TwoMethods()).release_many(HISTOGRAM, 2, replay(0))] == [
        ("a",)
    ] * 2
    assert [one.items for one in adopt_slot_mechanism(Stating()).release_many(HISTOGRAM, 2, replay(0))] == [
        ("many",)
    ] * 2
    assert [one.items for one in adopt_slot_mechanism(OwnRelease()).release_many(HISTOGRAM, 2, replay(0))] == [
        ("own",)
    ] * 2


def test_whether_many_releases_are_quick_is_asked_of_the_original() -> None:
    for mechanism, quick in ((TwoMethods(), False), (Stating(), True), (OwnRelease(), False)):
        assert (release_many_or_none(adopt(mechanism)) is not None) == quick


def test_a_wrapper_keeps_the_identity_of_the_original() -> None:
    for mechanism in (TwoMethods(), Stating(), Stating(k=2), OwnRelease()):
        adopted = adopt(mechanism)
        assert identity(adopted) == identity(mechanism)
        assert parameter_texts(adopted) == parameter_texts(mechanism)
        assert repr(adopted) == repr(mechanism)
    inside = Stating(counts=False)
    counted = cl.mechanisms.NoisyCounts(inside, scale=1)
    assert counted.mechanism == adopt(inside)
    assert parameter_texts(counted)["mechanism"] == "Stating(k=1, k_bar=2, contribution=3, domain=unknown, slack=1e-9)"
    whole = identity(counted)
    assert whole is not None
    assert "Adopted" not in str(whole)


def test_wrappers_are_equal_where_the_originals_are() -> None:
    assert adopt(Stating()) == adopt(Stating()) != adopt(Stating(k=2))
    assert hash(adopt(Stating())) == hash(adopt(Stating()))
    assert len({adopt(Stating()), adopt(Stating()), adopt(Stating(k=2))}) == 2
    assert adopt(TwoMethods()) != adopt(TwoMethods())  # objects that do not compare are different
    assert adopt(AdoptedMechanism(Stating())) == adopt(Stating())


def test_the_original_is_a_part_and_its_wrapper_none() -> None:
    mechanism = Stating(contribution=4)
    assert list(nested_mechanisms(adopt(mechanism))) == [mechanism]
    assert smallest_contribution(adopt(mechanism)) == 4
    with pytest.raises(MechanismError, match="Stating must state its contribution as a whole number"):
        smallest_contribution(adopt(Stating(contribution=0)))


def test_a_question_names_the_original() -> None:
    prepared = prepare(Question(k=1, k_bar=2, mechanism=TwoMethods()))
    assert prepared.choice.name == "TwoMethods"
    assert (prepared.margin, prepared.spread) == (None, None)
    assert prepared.settlement_cost(Selection((), True)) == prepared.cost
    stating = prepare(Question(k=1, contribution=3, mechanism=Stating()))
    assert (stating.margin, stating.spread) == (9.5, 19)
    assert stating.question.k_bar == 2


class Passing(Stating):
    """Passes the margin of its part on, as a wrapper does that somebody else wrote."""

    def __init__(self, mechanism: Any) -> None:
        super().__init__()
        self.__dict__["mechanism"] = mechanism

    def margin(self, chance: float = 0.95) -> float:
        result: float = self.__dict__["mechanism"].margin(chance)
        return result


def test_a_margin_that_is_passed_on_is_known_where_the_part_has_one() -> None:
    assert adopt(Passing(TwoMethods())).margin is None
    assert adopt(Passing(cl.mechanisms.Canonical(1, 1))).margin is None
    known = adopt(Passing(Stating())).margin
    assert known is not None
    assert known(0.5) == 5
    assert cl.mechanisms.NoisyCounts(cl.mechanisms.Canonical(1, 1), scale=1).margin is None


@pytest.mark.parametrize("nothing", [None, "LimitedDomain", 3, object(), TwoMethods, cl.mechanisms.LimitedDomain])
def test_what_is_no_mechanism_is_refused(nothing: Any) -> None:
    with pytest.raises(MechanismError, match="a mechanism needs"):
        adopt(nothing)
    with pytest.raises(MechanismError, match="in other words"):
        adopt(nothing, "in other words")


def test_what_cannot_be_charged_is_refused() -> None:
    class Loose(TwoMethods):
        def cost(self) -> Any:
            return 3

    class Promising(TwoMethods):
        def guarantee(self) -> Any:
            return "very private"

    with pytest.raises(MechanismError, match="cost\\(\\) must return a Cost"):
        adopt(Loose()).cost()
    with pytest.raises(MechanismError, match="guarantee\\(\\) must be"):
        adopt(Promising()).cost()
    with pytest.raises(ParameterError, match="slack must not be negative"):
        _ = adopt(Stating(slack=-1)).slack


def test_a_class_that_states_an_ability_as_a_field_has_it() -> None:
    """A property of the base class would keep a field from being stored, or become its default."""

    @dataclass(frozen=True)
    class Mine(BuiltIn):
        k: int
        scale: int
        domain: Any = ("a", "list")

        theorem = "none"

        def cost(self) -> Cost:
            return repeat_step(cl.PureDP(1))

        def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
            return [Selection((), True)] * n

    mine = Mine(2, 3)
    assert (mine.k, mine.k_bar, mine.scale) == (2, None, 3)
    assert domain_of(mine) is None  # it means something else by that word
    assert not hasattr(Mine, "k")
    with pytest.raises(TypeError, match="missing"):
        Mine()  # type: ignore[call-arg]
    with pytest.raises(MechanismError, match="Mine cannot be made from a total"):
        Mine.for_budget(k=1, epsilon=1, delta="1e-6")


def test_a_subclass_of_ours_needs_the_domain_that_ours_needs() -> None:
    class Listed(cl.mechanisms.Lipschitz):
        domain: Any = ("a", "list")

    assert domain_of(Listed(1, 1)) == "known"


def test_the_earlier_name_of_the_base_class_still_works() -> None:
    assert Catalogued is BuiltIn


def test_what_was_read_for_another_view_is_refused() -> None:
    pairs = Relation(np.array([0, 1]), np.array([0, 0]), "a")
    slots, sieve = cl.mechanisms.LimitedDomain(1, 2, 1, "1e-6"), cl.mechanisms.Sieve(1, 1, "1e-6")
    table, listed = HistogramTable.from_histograms([("g", HISTOGRAM)]), ListedTable(["g"], [HISTOGRAM])
    unfit = "was given data that were read for another view"
    with pytest.raises(MechanismError, match=f"LimitedDomain {unfit}"):
        slots.release_seen(pairs, 1, replay(0))
    with pytest.raises(MechanismError, match=f"Sieve {unfit}"):
        sieve.release_seen(HISTOGRAM, 1, replay(0))
    for other in (table, listed):
        with pytest.raises(MechanismError, match=f"Sieve {unfit}"):
            sieve.release_groups(other, replay(0))
    with pytest.raises(MechanismError, match=f"LimitedDomain {unfit}"):
        slots.release_groups(ObservedTable.from_histograms([]), replay(0))
    assert [len(mechanism.release_seen(HISTOGRAM, n, replay(0))) for n in (1, 3) for mechanism in (slots,)] == [1, 3]
    assert len(slots.release_groups(table, replay(0))) == 1


def test_a_part_that_looks_at_pairs_is_refused() -> None:
    test = cl.mechanisms.JointTest(1, "1e-6")
    with pytest.raises(MechanismError, match="Sieve reads pairs of a user and an item"):
        cl.mechanisms.Restricted(cl.mechanisms.Sieve(1, 1, "1e-6"), 4, test)  # type: ignore[arg-type] # mypy knows


def test_a_mechanism_of_others_may_look_at_pairs() -> None:
    class TheirPairs:
        view = PAIRS

        def guarantee(self) -> cl.PureDP:
            return cl.PureDP(1)

        def release(self, pairs: PairViews, entropy: cl.entropy.Entropy) -> cl.Selection:
            return cl.Selection((pairs.users_with(1),), False)

    pairs = Relation(np.array([0, 1]), np.array([0, 0]), "a")
    assert [one.items for one in adopt(TheirPairs()).release_seen(pairs, 2, replay(0))] == [(2,), (2,)]


def test_a_mechanism_of_others_may_be_run_in_groups_of_observed_items() -> None:
    items = ObservedItems.from_scores({"a": 30, "b": 20})
    (one,) = adopt(TwoMethods()).release_groups(ObservedTable.from_histograms([("g", items)]), replay(0))
    assert one.items == ("a",)
