"""CanonicalOrPeeling against its law, the prototype's numbers, its neighbours with the choice in the output, broken
twins, and its price."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest
from tests.mechanisms.conformance import follows_its_law, is_equivariant, items_law, notices

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.guarantees.accountants import total_epsilon
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange, WorstOfSteps
from crestline.guarantees.root_finding import largest_within
from crestline.guarantees.rounding import round_down
from crestline.histogram.count_levels import CountLevels, count_levels
from crestline.histogram.histogram import Histogram
from crestline.ledger.budget_rules import PureRule, ZcdpRule
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.routes.canonical_or_peeling import CanonicalOrPeeling
from crestline.mechanisms.routes.clear_choice import ClearChoiceTest, log_subsets_bound
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

COUNTS = {"a": 9, "b": 7, "c": 4, "d": 2}
LISTED = Histogram.over_domain(COUNTS)
TWO_THIRDS = Fraction(2, 3)


def made(k: int, total: str, look: str, delta: str, *, gamma: Any = TWO_THIRDS, middle: str = "1") -> Any:
    """An instance that spends all of a total, with the setting of the prototype's audits: the coin looks at four
    fifths of the rate, and is fair where `q` is `middle`."""
    whole, part = Fraction(total), Fraction(look)
    lean = part * Fraction(middle) / (Fraction(4, 5) * (whole - part) * Fraction(gamma))
    return CanonicalOrPeeling(
        k, part, whole - part, peeled(k, whole, part, Fraction(delta)), gamma, eta="0.2", lean=lean, slack=delta
    )


@lru_cache
def peeled(k: int, total: Fraction, look: Fraction, delta: Fraction) -> Fraction:
    """The ε of each of k peeling steps after a look of this ε."""

    def charged(each: Fraction) -> Fraction:
        return total_epsilon(repeat_step(BoundedRange(look)) + repeat_step(BoundedRange(each), k), delta)

    return largest_within(charged, total, start=total / k, digits=5)


# Counts, k, γ, ε of look and set, then the prototype's q and some of its law: a set is a frozenset, a list a tuple.
VECTORS: list[tuple[tuple[int, ...], int, Any, str, str, float, dict[Any, float]]] = [
    (
        (4, 2, 1, 0),
        2,
        TWO_THIRDS,
        "0.1",
        "0.9",
        1 + 0.010473054642245228 * 0.72 * 2 / 3 / 0.1,
        {frozenset("ab"): 0.2416004381259068, ("a", "b"): 0.12145100487604907, frozenset("ac"): 0.10064223724612735},
    ),
    (
        (3, 3, 1, 0),
        2,
        TWO_THIRDS,
        "0.3",
        "0.7",
        2 - 0.7441998075523578 * 0.56 * 2 / 3 / 0.3,
        {frozenset("ab"): 0.3271339283500968, frozenset("ac"): 0.09236221748978152, ("d", "c"): 0.009540682942026667},
    ),
    (
        (8, 3, 1),
        2,
        TWO_THIRDS,
        "0.2",
        "0.5",
        0.5 + 0.10157516017226395 * 0.4 * 2 / 3 / 0.2,
        {frozenset("ab"): 0.31795931129211175, ("a", "b"): 0.25209060076546475, ("c", "b"): 0.00872212780289146},
    ),
]
STEPS = ["0.4", "0.3", "0.3"]
CHANCES = [0.49738176027116937, 0.6779135549974747, 0.4746280208507132]  # the prototype's, of a set


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_the_law_is_the_prototypes(number: int) -> None:
    """Its coin has no room for rounding: what it looks at is compared, and the law of each way."""
    counts, k, gamma, look, epsilon, seen, law = VECTORS[number]
    histogram = Histogram.over_domain(dict(zip("abcd", counts, strict=False)))
    mechanism = CanonicalOrPeeling(k, look, epsilon, STEPS[number], gamma, eta="0.2", lean=1)
    coin = mechanism.coin_for(count_levels(histogram))
    looked = (1 - coin.log_odds(count_levels(histogram), 1)) / coin.slope
    assert abs(float(looked) - seen) <= float(coin.tau)
    ours, taken = items_law(mechanism.law(histogram)), mechanism.canonical_chance(histogram)
    for items, chance in law.items():
        is_set, theirs = isinstance(items, frozenset), CHANCES[number]
        mine = ours[items] / (taken if is_set else 1 - taken)
        assert mine == pytest.approx(chance / (theirs if is_set else 1 - theirs), abs=1e-7)


@pytest.mark.statistics
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_the_sampler_follows_the_law_and_the_test_has_power(noise: str) -> None:
    def instance(look: str = "0.3", epsilon: str = "0.7", step: str = "0.4") -> CanonicalOrPeeling:
        return CanonicalOrPeeling(2, look, epsilon, step, noise=noise, eta="0.2", lean="0.6")

    mechanism = instance()
    law = mechanism.law(LISTED)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    follows_its_law(mechanism, LISTED)
    notices(mechanism, instance(epsilon="0.77"), LISTED)
    notices(mechanism, instance(step="0.44"), LISTED)
    notices(mechanism, instance(look="0.36"), LISTED)


@pytest.mark.statistics
def test_the_sampler_follows_the_law_of_sums() -> None:
    histogram = Histogram.over_domain({"a": 95, "b": 70, "c": 43, "d": 21}, unit=10)
    follows_its_law(made(2, "1", "0.3", "0.01"), histogram, trials=100_000)


def test_one_bit_at_first_gives_the_same_selections() -> None:
    mechanism = made(2, "1", "0.3", "0.01")
    reference = mechanism.release_many(LISTED, 60, replay("bits"))
    assert {type(selection.items) for selection in reference} == {tuple, frozenset}
    for bits in (1, 7):
        assert mechanism.release_many(LISTED, 60, replay("bits", first_bits=bits)) == reference


def test_permuting_labels_permutes_the_law() -> None:
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(made(2, "1", "0.3", "0.01"), Histogram.over_domain, COUNTS, renaming)


def needed(mechanism: CanonicalOrPeeling, epsilon: float, labels: str = "abcd", most: int = 3) -> float:
    """The δ that the worst of all neighbouring pairs needs; sets and lists are different outcomes."""
    law = lambda counts: mechanism.law(Histogram.over_domain(counts))  # noqa: E731
    return worst_pair(law, small_histogram_pairs(labels, most), epsilon).delta


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "labels", "most"),
    [
        (made(2, "1", "0.1", "1e-3"), "abcd", 3),
        (made(2, "1", "0.3", "1e-2", middle="2"), "abcd", 3),
        (made(2, "2", "0.3", "1e-3", gamma="0.75"), "abcd", 2),
        (made(1, "1", "0.2", "1e-3", middle="0.5"), "abcd", 3),
        (made(2, "0.7", "0.2", "1e-2", middle="0.5"), "abc", 6),
        (CanonicalOrPeeling(2, "0.2", "0.8", "0.4", "0.5", "gumbel", eta="0.5", lean="0.3"), "abcd", 2),
        (CanonicalOrPeeling.for_budget(k=2, epsilon=1, delta="1e-3"), "abcd", 3),
    ],
    ids=range(7),
)
def test_neighbours_stay_within_the_promise(mechanism: CanonicalOrPeeling, labels: str, most: int) -> None:
    promise: Any = mechanism.guarantee()
    assert needed(mechanism, float(promise.epsilon), labels, most) <= float(promise.delta) + 1e-9


@pytest.mark.long
def test_the_promise_is_not_far_from_what_is_needed() -> None:
    """P20.3's audits need about half of δ."""
    assert needed(made(2, "1", "0.3", "1e-2", middle="2"), 1.0) > 3e-3


def leader(lead: int, low: int) -> Histogram:
    """One item of so many users, and thirty others of `low` users each: somebody may have all of these."""
    return Histogram.over_domain({"leader": lead, **{f"i{number:02}": low for number in range(30)}})


def worst_leader(mechanism: CanonicalOrPeeling, epsilon: float) -> float:
    """The δ that is needed where a user comes who has everything but the leader: the coin and the draw both move as
    far as they can, in one direction."""
    worst = 0.0
    for lead in range(2, 9):
        before, after = mechanism.law(leader(lead, 0)), mechanism.law(leader(lead, 1))
        for one, other in ((before, after), (after, before)):
            worst = max(worst, sum(max(0.0, chance - math.exp(epsilon) * other[o]) for o, chance in one.items()))
    return worst


class SteepCoin(ClearChoiceTest):
    """A coin whose log odds fall twice as fast as they may."""

    @property
    def slope(self) -> Fraction:
        return 2 * self.epsilon / (self.rate * self.gamma + 2 * self.tau)


class Steep(CanonicalOrPeeling):
    def coin_for(self, items: CountLevels) -> ClearChoiceTest:
        right = super().coin_for(items)
        return SteepCoin(right.k, right.gamma, right.rate, right.epsilon, right.lean)


@pytest.mark.long
def test_broken_twins_are_caught() -> None:
    """The δ is 1/1000. A promise without the look, both ways with the whole budget after it, and a wrong slope."""
    look, total, delta = Fraction(3, 10), Fraction(1), Fraction(1, 1000)
    each, alone = peeled(1, total, look, delta), Lipschitz.for_budget(k=1, epsilon=total, delta=delta).epsilon
    honest = CanonicalOrPeeling(1, look, total - look, each, 1, eta="0.2", lean=1, slack=delta)
    whole = CanonicalOrPeeling(1, look, total, alone, 1, eta="0.2", lean=1, slack=delta)
    steep = Steep(1, look, total - look, each, 1, eta="0.2", lean=1, slack=delta)
    assert worst_leader(honest, 1.0) <= 1e-3
    assert worst_leader(honest, 0.7) > 1e-2  # the choice is not paid for
    assert worst_leader(whole, 1.0) > 1e-2
    assert worst_leader(steep, 1.0) > 5e-3


@pytest.mark.parametrize("gamma", ["0.5", TWO_THIRDS, "0.9", 1])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_one_user_moves_the_log_odds_by_the_look_at_most(k: int, gamma: Any) -> None:
    """Bounded range of the coin (P20.3): all small pairs, and a user who has all of a long list but its head, who
    moves the coin nearly as far as it may."""
    mechanism = CanonicalOrPeeling(k, "0.3", 1, "0.4", gamma, eta="0.1")

    def odds(histogram: Histogram) -> Fraction:
        items = count_levels(histogram)
        return mechanism.coin_for(items).log_odds(items, 1)

    head = [odds(Histogram.from_multiplicities({9: k, low: 10**7})) for low in (3, 4)]
    assert 0.29 < float(head[0] - head[1]) <= 0.3
    if k < 4:
        small = lru_cache(lambda counts: odds(Histogram.over_domain(dict(counts))))
        pairs = small_histogram_pairs("abcd", 3)
        assert all(
            abs(small(tuple(one.items())) - small(tuple(other.items()))) <= mechanism.look for one, other in pairs
        )


def test_rounding_cannot_cost_more_than_it_is_given() -> None:
    """A rational that is off by `tau` either way still moves the log odds by no more than the look."""
    coin = CanonicalOrPeeling(2, "0.3", 1, "0.4", eta="0.2").coin_for(count_levels(LISTED))
    assert coin.slope * (coin.rate * coin.gamma + 2 * coin.tau) == Fraction(3, 10)


def test_what_the_coin_looks_at_is_certified_without_doubles() -> None:
    """A rate so small that doubles are not enough: balls are."""
    items = count_levels(Histogram.from_multiplicities({900: 3, 5: 400}))
    coin = ClearChoiceTest(3, TWO_THIRDS, Fraction(1, 10**13), Fraction(1), Fraction(0))
    looked = -coin.log_odds(items, 1) / coin.slope
    subsets, weight = math.comb(403, 3), coin.rate * 895 * TWO_THIRDS
    assert float(looked) == pytest.approx(math.log(subsets), abs=1e-9)
    assert abs(looked - Fraction(math.log(subsets))) < weight * 2 + Fraction(1, 10**14)


@pytest.mark.parametrize("size", [10**3, 2**60])
def test_counts_that_decide_everything_leave_nothing_to_look_at(size: int) -> None:
    """Counts beyond the precision of doubles: two items are ahead by more than anything can outweigh."""
    items = count_levels(Histogram.from_multiplicities({size + 10: 2, 10: 50}))
    coin = ClearChoiceTest(2, TWO_THIRDS, Fraction(1), Fraction(1), Fraction(3))
    assert abs(coin.log_odds(items, 1) - 3) < coin.slope * coin.tau


def test_counts_that_are_cut_take_a_quarter_of_the_room_at_most() -> None:
    """One item is ahead of a thousand by more than anything can outweigh: each of them is cut, and k = 1 is where the
    bound on the number of sets is closest to it."""
    items = count_levels(Histogram.from_multiplicities({10**9: 1, 10: 1000}))
    coin = ClearChoiceTest(1, TWO_THIRDS, Fraction(1), Fraction(1), Fraction(3))
    assert 0 < (3 - coin.log_odds(items, 1)) / coin.slope <= coin.tau / 4


@pytest.mark.parametrize("gamma", ["0.1", TWO_THIRDS, "0.9"])
@pytest.mark.parametrize("heads", [1, 2])
def test_what_is_missed_and_what_falls_short_are_cut_where_they_weigh_nothing(heads: int, gamma: Any) -> None:
    """Two items: with one head, which nobody can miss, the other is any of a thousand; with two they are the set."""
    items = count_levels(Histogram.from_multiplicities({10**9: heads, 10: 1000}))
    coin = ClearChoiceTest(2, Fraction(gamma), Fraction(1), Fraction(1), Fraction(3))
    looked = float((3 - coin.log_odds(items, 1)) / coin.slope)
    assert looked == pytest.approx(math.log(1000) if heads == 1 else 0, abs=float(coin.tau / 4))


def test_a_clear_head_is_chosen_as_a_set_and_a_flat_one_is_peeled() -> None:
    mechanism = CanonicalOrPeeling.for_budget(k=100, epsilon=1, delta="1e-6")
    clear = Histogram.from_multiplicities({**{10**4 - n: 1 for n in range(100)}, 5: 20_000})
    flat = Histogram.from_multiplicities({400 - n: 20 for n in range(400)})
    assert mechanism.canonical_chance(clear) > 0.999
    assert mechanism.canonical_chance(flat) < 0.001
    sets = mechanism.release_many(clear, 20, replay("clear"))
    assert {selection.items for selection in sets} == {frozenset((10**4 - n, 0) for n in range(100))}
    assert all(isinstance(selection.items, tuple) for selection in mechanism.release_many(flat, 20, replay("flat")))


def test_a_list_of_ten_thousand_million_items() -> None:
    mechanism = CanonicalOrPeeling.for_budget(k=8, epsilon=1, delta="1e-6")
    histogram = Histogram.from_multiplicities({10**6: 3, 10**5: 5, 10: 10**6, 0: 10**10})
    assert {count for count, _ in mechanism.release(histogram, replay("long")).items} == {10**6, 10**5}


@pytest.mark.parametrize("counts", [{}, {"a": 3}, {"a": 3, "b": 0}])
def test_a_list_no_longer_than_wanted_is_a_set_without_a_look(counts: dict[str, int]) -> None:
    mechanism, short = CanonicalOrPeeling(2, "0.1", 1, 1), Histogram.over_domain(counts)
    wanted = Selection(frozenset(counts), len(counts) < 2)
    assert mechanism.release_many(short, 3, replay(0)) == [wanted] * 3
    assert mechanism.law(short) == {wanted: 1.0}


@pytest.mark.long
def test_all_of_the_total_is_spent() -> None:
    for k, share in ((2, Fraction(7, 100)), (10, Fraction(7, 100)), (100, Fraction(3747, 10**5))):
        mechanism = CanonicalOrPeeling.for_budget(k=k, epsilon="0.5", delta="1e-6", k_bar=9, contribution=2)
        promise: Any = mechanism.guarantee()
        assert (promise.epsilon, promise.delta) == (Fraction(1, 2), Fraction(1, 10**6))
        assert mechanism.look == share / 2
        assert mechanism.look + mechanism.epsilon == Fraction(1, 2)
        peeling = repeat_step(BoundedRange(mechanism.look)) + repeat_step(BoundedRange(mechanism.step), k)
        assert 0.49999 < float(total_epsilon(peeling, Fraction(1, 10**6))) <= 0.5


@pytest.mark.long
def test_the_numbers_of_the_look_are_the_chosen_ones() -> None:
    """Decisions of docs/decisions/public-lists.md, and P20.1, P20.2."""
    mechanism = CanonicalOrPeeling.for_budget(k=2000, epsilon=1, delta="1e-6")
    assert mechanism.look == Fraction(round(10**5 * 21 / (2000 * (1 + math.log(10)))), 10**5)  # 10 k items, at least
    assert (mechanism.gamma, mechanism.lean) == (TWO_THIRDS, Fraction("7.6"))
    assert mechanism.step == round_down(mechanism.step, 9)  # six digits are certain, three more are written
    assert log_subsets_bound(1000, 10) == pytest.approx(10 * (1 + math.log(100)), rel=1e-15)


@pytest.mark.parametrize(
    ("k", "items", "look"), [(1, 2, "0.07"), (10, 10**4, "0.07"), (10, 10**6, "0.3"), (1, 2, "1e-4")]
)
def test_how_far_the_coin_looks_ahead_depends_on_the_length_of_the_list(k: int, items: int, look: str) -> None:
    """`eta/(1 - eta) = lean gamma epsilon/(look ln C(d, k))`, in thousandths, and never all of the rate."""
    mechanism = CanonicalOrPeeling(k, look, "0.9", "0.1")
    ratio = 7.6 * (2 / 3) * 0.9 / float(look) / (k * (1 + math.log(items / k)))
    eta = min(Fraction(999, 1000), Fraction(round(1000 * ratio / (1 + ratio)), 1000))
    assert mechanism._lead_share(items) == eta
    coin = mechanism.coin_for(count_levels(Histogram.from_multiplicities({5: 1, 0: items - 1})))
    moved = (1 - eta) * Fraction(9, 10) * TWO_THIRDS
    assert (coin.k, coin.rate * coin.gamma, coin.lean) == (k, moved, Fraction("7.6"))
    assert coin.tau == moved / 1000
    assert coin.slope == Fraction(look) / (moved + moved / 500)


def test_without_delta_the_steps_are_added_up() -> None:
    mechanism = CanonicalOrPeeling.for_budget(k=4, epsilon=1, delta=0)
    promise: Any = mechanism.guarantee()
    assert (promise.epsilon, promise.delta) == (1, 0)
    assert float(mechanism.step) == pytest.approx(0.93 / 4, rel=1e-5)


def test_the_dearer_way_is_reserved_and_the_one_taken_is_paid() -> None:
    """In a ledger that adds up ρ the set is the dearer; in one that adds up ε the list is."""
    mechanism = CanonicalOrPeeling.for_budget(k=10, epsilon=1, delta="1e-6")
    a_set, a_list = Selection(frozenset(range(10)), False), Selection(tuple(range(10)), False)
    look, rho = mechanism.look**2 / 8, {"set": mechanism.epsilon**2 / 2, "list": 10 * mechanism.step**2 / 8}
    zcdp, pure = ZcdpRule(Fraction(5), Fraction(1), Fraction(0)), PureRule(Fraction(5), Fraction(1))
    assert zcdp.measure(mechanism.cost()).loss == look + rho["set"]
    assert zcdp.measure(mechanism.settlement_cost(a_set)).loss == look + rho["set"]
    assert zcdp.measure(mechanism.settlement_cost(a_list)).loss == look + rho["list"]
    assert pure.measure(mechanism.cost()).loss == mechanism.look + 10 * mechanism.step
    assert pure.measure(mechanism.settlement_cost(a_list)).loss == mechanism.look + 10 * mechanism.step
    assert pure.measure(mechanism.settlement_cost(a_set)).loss == 1
    nothing = mechanism.settlement_cost(Selection((), True))
    assert (zcdp.measure(nothing).loss, pure.measure(nothing).loss) == (look + rho["list"], 1)
    quiet = CanonicalOrPeeling.for_budget(k=10, epsilon=1, delta="1e-6", noise="gumbel")
    assert zcdp.measure(quiet.cost()).loss == look + mechanism.epsilon**2 / 8


def test_one_of_several_steps_is_added_up_like_the_worst() -> None:
    step = repeat_step(WorstOfSteps("0.5", "0.02"))
    assert total_epsilon(step, 0) == Fraction(1, 2)
    assert total_epsilon(step, "1e-6") == Fraction(1, 2)
    assert total_epsilon(repeat_step(WorstOfSteps(9, "0.02")), "1e-6") < Fraction("1.1")
    assert str(WorstOfSteps("0.5", "0.02")) == "0.5-DP and 0.02-zCDP"


def test_the_two_ways_are_the_catalogues_own() -> None:
    mechanism = CanonicalOrPeeling(3, "0.1", "0.9", "0.2", noise="gumbel")
    assert mechanism.canonical == Canonical(3, "0.9", TWO_THIRDS, "gumbel")
    assert mechanism.peeling == Lipschitz(3, "0.6")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CanonicalOrPeeling(0, 1, 1, 1), "k must be at least 1"),
        (lambda: CanonicalOrPeeling(1, 0, 1, 1), "look must be larger than zero"),
        (lambda: CanonicalOrPeeling(1, 1, 0, 1), "epsilon must be larger than zero"),
        (lambda: CanonicalOrPeeling(1, 1, 1, 0), "step must be larger than zero"),
        (lambda: CanonicalOrPeeling(1, 1, 1, 1, gamma="0.4"), "gamma must be at least one half"),
        (lambda: CanonicalOrPeeling(1, 1, 1, 1, noise="gauss"), "noise must be one of"),
        (lambda: CanonicalOrPeeling(1, 1, 1, 1, eta=1), "eta must be smaller than one"),
        (lambda: CanonicalOrPeeling(1, 1, 1, 1, eta=-1), "eta must not be negative"),
        (lambda: CanonicalOrPeeling(1, 1, 1, 1, lean=-1), "lean must not be negative"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_a_list_that_was_cut_is_refused() -> None:
    with pytest.raises(HistogramError, match="whole public list"):
        CanonicalOrPeeling(1, 1, 1, 1).release(Histogram.from_counts(COUNTS, 2), replay(0))
