"""The sieve: one round and the last step audited exactly on all small neighbours, broken twins, and made data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from tests.mechanisms.conformance import SIGNIFICANCE, p_value
from tests.mechanisms.observed.test_observed import User, above, hockey_stick, neighbours, scored

from crestline.errors import ParameterError
from crestline.guarantees.gaussian import delta_of, largest_mu_squared
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import Relation
from crestline.mechanisms.observed import bucket_rounds, sieve
from crestline.mechanisms.observed.bucket_rounds import fresh_key, keep_heavy_buckets, strongest_buckets
from crestline.mechanisms.observed.choose_bound import ItemCountEstimate, LastStep, SieveSetting
from crestline.mechanisms.observed.count_step import NoisyUsers, add_noise_to_users
from crestline.mechanisms.observed.law import threshold_law
from crestline.mechanisms.observed.noisy_query import FINE, NoisyQuery, noisy_query, sigma_for
from crestline.mechanisms.observed.release import ThresholdRule, draw_releases
from crestline.mechanisms.observed.sieve import Sieve
from crestline.mechanisms.observed.thresholds import gaussian_threshold
from crestline.mechanisms.observed.weights import UNIT, gaussian_weights
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay
from crestline.randomness.laws import GAUSSIAN

FIRST, LAST = Fraction(35, 100), Fraction(65, 100)  # shares of the round and of the threshold in the audit


class Audited:
    """One round over two buckets and the threshold, as in `Sieve`, with its law written down.

    The buckets that reach the larger noisy load less 2 σ are kept: the rule of P18.1 for k = 1 where it can bite. With
    a floor, items of fewer users are not observed, and `hidden` full weights are taken off the others: one fewer.
    """

    def __init__(
        self, mechanism: Sieve, *, skip_empty: bool = False, new: int = 3, floor: int = 1, hidden: int | None = None
    ) -> None:
        self.sigma = float(sigma_for(FIRST * mechanism.mu_squared))
        self.last = sigma_for(LAST * mechanism.mu_squared)
        self.threshold = gaussian_threshold(1, new, self.last, mechanism.delta_new)
        self.skip_empty = skip_empty
        self.floor, self.hidden = floor, hidden
        self.weights = gaussian_weights(1, 3)

    def law(self, users: tuple[User, ...], bucket: Mapping[str, int]) -> dict[Any, float]:
        loads = [0.0, 0.0]
        for items in users:
            mine = {bucket[item] for item in items}
            for one in mine:
                loads[one] += float(self.weights[len(mine) - 1]) / UNIT
        if self.skip_empty and not users:
            return {"skipped": 1.0}
        lead = (loads[0] - loads[1]) / (self.sigma * math.sqrt(2))
        only_first = float(norm.sf(2 / math.sqrt(2) - lead))
        only_second = float(norm.cdf(-2 / math.sqrt(2) - lead))
        result: dict[Any, float] = {}
        for kept, chance in (((0,), only_first), ((1,), only_second), ((0, 1), 1 - only_first - only_second)):
            for outcome, part in self.named(users, {item for item in "abc" if bucket[item] in kept}).items():
                result[kept, outcome] = chance * part
        return result

    def named(self, users: tuple[User, ...], alive: set[str]) -> Mapping[Selection, float]:
        left = tuple(tuple(item for item in items if item in alive) for items in users)
        scores = above(scored(left, self.weights), left, self.floor, self.hidden)
        view = ObservedItems.from_scores(scores, unit=UNIT, floor=self.floor)
        return threshold_law(view, 2, GAUSSIAN, float(self.last), float(self.threshold))


def worst(audited: Audited, epsilon: float) -> float:
    found = 0.0
    for places in product((0, 1), repeat=3):
        bucket = dict(zip("abc", places, strict=True))
        law = cache(lambda users, bucket=bucket: audited.law(users, bucket))
        for more, less in neighbours():
            left, right = law(more), law(less)
            found = max(found, hockey_stick(left, right, epsilon), hockey_stick(right, left, epsilon))
    return found


@pytest.mark.statistics
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.05"), ("1", "0.001")])
def test_a_round_and_the_threshold_keep_the_promise_on_all_small_neighbours(epsilon: str, delta: str) -> None:
    found = worst(Audited(Sieve(2, epsilon, delta)), float(epsilon))
    assert 0.05 * float(delta) < found <= float(delta)


def test_counting_items_instead_of_different_buckets_is_caught() -> None:
    """Without `distinct`, a user with three items in one bucket moves its load by √3, and the noise is for one."""
    mechanism = Sieve(2, "1", "1e-6")
    user = Relation(np.zeros(3, dtype=np.int64), np.arange(3))
    honest = int(user.bucket_loads(bytes(16), 1, gaussian_weights(1, 3))[0])
    broken = 3 * int(gaussian_weights(1, 3)[2])
    spent = [delta_of(1, mechanism.mu_squared * Fraction(moved, UNIT) ** 2) for moved in (honest, broken)]
    assert spent[0] <= mechanism.slack
    assert spent[1] > 30 * mechanism.delta


@pytest.mark.statistics
def test_skipping_the_round_when_nothing_is_there_is_caught() -> None:
    assert worst(Audited(Sieve(2, "0.5", "0.05"), skip_empty=True), 0.5) > 0.9


def test_a_threshold_for_one_new_item_is_caught() -> None:
    mechanism = Sieve(2, "0.5", "0.05")
    user = ("a", "b", "c")
    honest, broken = Audited(mechanism), Audited(mechanism, new=1)
    passing = [1 - audited.named((user,), set("abc"))[Selection((), True)] for audited in (honest, broken)]
    assert passing[0] <= float(mechanism.delta_new) < passing[1]


@pytest.mark.statistics
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.05"), ("1", "0.001")])
def test_with_a_floor_the_promise_is_kept_on_all_small_neighbours(epsilon: str, delta: str) -> None:
    found = worst(Audited(Sieve(2, epsilon, delta), floor=2), float(epsilon))
    assert 0.05 * float(delta) < found <= float(delta)


def test_a_floor_that_adds_nothing_to_the_threshold_is_caught() -> None:
    """An item that another user has appears with two users' weights, and passes more often than something new may."""
    mechanism = Sieve(2, "0.5", "0.05")
    both = (("a",), ("a",))
    honest, broken = Audited(mechanism, floor=2), Audited(mechanism, floor=2, hidden=0)
    assert honest.named(both[:1], set("abc")) == broken.named(both[:1], set("abc")) == {Selection((), True): 1.0}
    passing = [1 - audited.named(both, set("abc"))[Selection((), True)] for audited in (honest, broken)]
    assert passing[0] <= float(mechanism.delta_new) < passing[1]


@pytest.mark.parametrize("floor", [1, 2, 3])
def test_the_audited_scores_are_those_of_pairs_in_memory(floor: int) -> None:
    for users, _ in neighbours():
        rows = np.array([(user, "abc".index(item)) for user, items in enumerate(users) for item in items]).T
        view = Relation(rows[0], rows[1], "abc").with_floor(floor).observed_items(bytes(32), gaussian_weights(1, 3))
        found = {view.name(rank): view.score_of(rank) for rank in range(view.size)}
        assert found == above(scored(users, gaussian_weights(1, 3)), users, floor)


@pytest.mark.statistics
@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.9, False), (1.1, False)])
def test_a_look_follows_its_law_and_ten_percent_are_noticed(factor: float, right: bool) -> None:
    counts = np.full(200_000, 7 * UNIT, dtype=np.int64)
    seen = noisy_query(counts, UNIT, Fraction(1, 4), replay("looks"))
    assert float(seen.sigma) == pytest.approx(2.0)
    assert (p_value(_unrounded(seen), _grid_law(factor)) > SIGNIFICANCE) == right


def _unrounded(seen: NoisyQuery) -> list[int]:
    """The released steps around the true value, far ones pooled, in groups of seven steps of the grid."""
    groups: list[int] = np.clip((seen.steps - 7 * FINE // 2) // 7, -40, 40).tolist()
    return groups


def _grid_law(factor: float) -> dict[int, float]:
    """The exact chance of each group of seven grid steps: the ideal value is rounded to the nearest step."""
    sigma = FINE * factor

    def below(group: int) -> float:
        return float(norm.cdf((7 * group - 0.5) / sigma))

    law = {group: below(group + 1) - below(group) for group in range(-40, 41)}
    law[-40], law[40] = below(-39), 1 - below(40)
    return law


def test_a_share_of_the_buckets_stays_and_at_least_two_for_each_item() -> None:
    evidence = np.array([5.0, 9.0, 1.0, 7.0, 7.0, 0.0, -3.0, 6.0, 2.0, 4.0])
    assert strongest_buckets(evidence, 1).tolist() == [1, 3, 4, 7]  # 35% of ten, rounded to the even number
    assert strongest_buckets(evidence, 3).tolist() == [0, 1, 3, 4, 7, 9]  # 2k, in the order of the buckets
    assert strongest_buckets(evidence, 6).tolist() == list(range(10))  # there are no more
    assert strongest_buckets(np.array([1.0, 2.0, 2.0, 2.0]), 1).tolist() == [1, 2]  # the first of equal ones
    # After the last round those from two σ below the k-th on, of the same share.
    assert strongest_buckets(evidence, 1, deviation=1.0).tolist() == [1, 3, 4]
    assert strongest_buckets(evidence, 1, deviation=0.9).tolist() == [1, 3]  # the 2k largest in any case
    assert strongest_buckets(evidence, 1, deviation=99.0).tolist() == [1, 3, 4, 7]


def test_rounds_use_one_hash_and_their_evidence_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against P28.1 as it is written: noise over the buckets that are left, `r_j = √(B/left)`, 35% and two σ."""
    looks: list[NoisyQuery] = []
    cuts: list[tuple[list[float], float | None]] = []

    def spy(numbers: Any, unit: int, mu_squared: Fraction, entropy: Any) -> NoisyQuery:
        looks.append(noisy_query(numbers, unit, mu_squared, entropy))
        return looks[-1]

    def cut(evidence: Any, k: int, deviation: float | None = None) -> Any:
        cuts.append((evidence.tolist(), deviation))
        return strongest_buckets(evidence, k, deviation)

    monkeypatch.setattr(bucket_rounds, "noisy_query", spy)
    monkeypatch.setattr(bucket_rounds, "strongest_buckets", cut)
    left = keep_heavy_buckets(planted(False), 3, 64, Fraction(2), replay("rounds"))
    assert [len(one.steps) for one in looks] == [64, 22, 8, 6]  # 35% of each, and at least 2k
    assert [one.sigma for one in looks] == [sigma_for(Fraction(1, 2))] * 4
    factors = [math.sqrt(64 / len(one.steps)) for one in looks]
    chosen = [strongest_buckets(np.array(evidence), 3) for evidence, _ in cuts[:3]]
    for before, after, look, factor, places in zip(cuts, cuts[1:], looks[1:], factors[1:], chosen, strict=False):
        assert after[0] == pytest.approx((np.array(before[0])[places] + factor * look.values).tolist())
    deviation = math.sqrt(sum((factor * math.sqrt(2)) ** 2 for factor in factors))
    assert [one for _, one in cuts] == [None, None, None, pytest.approx(deviation)]
    assert 0 < len(np.unique(left._items)) < 8_000  # type: ignore[attr-defined] # pairs in memory


@pytest.mark.parametrize(
    ("weight", "shares", "step"),
    [
        (0.5, ["0.02", "0.01"], LastStep(SieveSetting(1, 4), Fraction(1), 5)),
        (0.49, ["0.02", "0.01", *["0.075"] * 4, "0.02"], LastStep(SieveSetting(1, 4), Fraction(1), 5)),
        (0.5, ["0.02", "0.01"], LastStep(SieveSetting(1, 4), Fraction(1, 4), 8)),
    ],
)
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("counts", [False, True])
def test_the_steps_and_their_shares_are_those_of_the_checked_mathematics(
    monkeypatch: pytest.MonkeyPatch, weight: float, shares: list[str], step: LastStep, several: bool, counts: bool
) -> None:
    """P18.4, whose look at the users is made to say something. Over several periods a user moves two of its cells, so
    that its share pays for half of the precision (P16.2), and counts are paid for (P23.3)."""
    spent: list[Fraction] = []
    settings: list[tuple[object, ...]] = []
    counted: list[Fraction] = []

    def quiet(numbers: Any, unit: int, mu_squared: Fraction, entropy: Any) -> NoisyQuery:
        spent.append(mu_squared)
        return NoisyQuery(np.full(len(numbers), -64), Fraction(1))

    def best(*given: object) -> Any:
        settings.append(given)
        return step.setting if several else step

    def count(users: Any, mu_squared: Fraction, entropy: Any, *, several: bool) -> NoisyUsers:
        counted.append(mu_squared)
        return add_noise_to_users(users, mu_squared, entropy, several=several)

    for place in (sieve, bucket_rounds):
        monkeypatch.setattr(place, "noisy_query", quiet)
    monkeypatch.setattr(sieve, "best_setting", best)
    monkeypatch.setattr(sieve, "best_last_step", best)
    monkeypatch.setattr(sieve, "add_noise_to_users", count)
    monkeypatch.setattr(ItemCountEstimate, "mean_weight", lambda _: weight)
    mechanism = Sieve(5, 1, "1e-6", several=several, counts=counts)
    released = mechanism.release(planted(light=True), replay("shares"))
    looks = {1, len(shares) - 1}  # at the users by items: the last one only after the rounds
    moved = [2 if several and place in looks else 1 for place in range(len(shares))]
    assert spent == [Fraction(share) * mechanism.mu_squared / two for share, two in zip(shares, moved, strict=True)]
    left = mechanism.mu_squared * (1 - sum(map(Fraction, shares)))
    part = step.share if not several else Fraction(4, 5) if counts else Fraction(1)
    share = float(left * part) if several else float(left)
    k = () if several else (5,)
    assert [given[1:] for given in settings] == [(1.0, share, Fraction(4, 10**7), 0, *k)]  # a count below one is one
    assert counted == ([left * (1 - part)] if part < 1 else [])
    sigma = sigma_for(left * part)
    bar = float(gaussian_threshold(1, 4, sigma, Fraction(4, 10**7))) + 1.645 * float(sigma)
    assert released.needed == pytest.approx(2 * bar)  # of users with four items, as long as nothing is known


def test_the_numbers_of_the_sieve_are_the_published_ones() -> None:
    mechanism = Sieve(5, 1, "1e-6")
    assert mechanism.buckets == 2**14
    assert mechanism.mu_squared == largest_mu_squared(1 - Fraction(2, 10**11), Fraction(6, 10**7))
    assert (mechanism.delta_new, mechanism.slack) == (Fraction(4, 10**7), Fraction(6, 10**7))
    assert len(fresh_key(replay("key"))) == 32
    assert Sieve(1, 1, "0.1", buckets=2).buckets == 2
    with pytest.raises(ParameterError, match="at least 2"):
        Sieve(1, 1, "0.1", buckets=1)
    with pytest.raises(ParameterError, match="leave contribution out"):
        Sieve.for_budget(k=3, epsilon=1, delta="1e-6", contribution=4)


def test_what_an_item_needed_is_stated_in_users() -> None:
    """From the noisy looks alone: the more items users have, the less each weighs, and the more are needed."""
    light = Sieve(5, 1, "1e-6").release(planted(True), replay("needed"))
    assert light.needed is not None
    assert 30 < light.needed < 90  # a bar of about 30, and users of a few items each
    heavy = Sieve(5, 1, "1e-6").release(planted(False), replay("needed"))
    assert heavy.needed is not None
    assert heavy.needed > light.needed
    assert light == Selection(light.items, light.stopped)


@pytest.mark.parametrize("light", [True, False])
@pytest.mark.parametrize(("epsilon", "split"), [("0.02", False), ("1", True)])
@pytest.mark.parametrize("several", [True, False])
def test_the_steps_of_every_path_add_up_to_what_is_charged(
    monkeypatch: pytest.MonkeyPatch, light: bool, epsilon: str, split: bool, several: bool
) -> None:
    spent: list[Fraction] = []
    last: list[Fraction] = []  # the contribution, and the length of the most that a user moves the numbers of users

    def spy(numbers: Any, unit: int, mu_squared: Fraction, entropy: Any) -> NoisyQuery:
        seen = noisy_query(numbers, unit, mu_squared, entropy)
        spent.append(1 / seen.sigma**2)
        return seen

    def final(items: ObservedItems, rule: ThresholdRule, n: int, entropy: Any) -> Any:
        spent.append(1 / rule.scale**2)
        return draw_releases(items, rule, n, entropy)

    def solve(contribution: int, *given: Any) -> Fraction:
        last.append(Fraction(contribution))
        return gaussian_threshold(contribution, *given)

    def count(users: Any, mu_squared: Fraction, entropy: Any, **several: bool) -> NoisyUsers:
        found = add_noise_to_users(users, mu_squared, entropy, **several)
        last.append(mu_squared)
        if users:
            longest = longest_move(found, len(users))
            assert 0.9 * float(mu_squared) < longest <= float(mu_squared) * (1 + 1e-9)
        return found

    for place in (sieve, bucket_rounds):
        monkeypatch.setattr(place, "noisy_query", spy)
    monkeypatch.setattr(sieve, "draw_releases", final)
    monkeypatch.setattr(sieve, "gaussian_threshold", solve)
    monkeypatch.setattr(sieve, "add_noise_to_users", count)
    mechanism = Sieve(5, epsilon, "1e-6", several=several, counts=True)
    mechanism.release(planted(light), replay("path"))
    contribution, *counted = last
    assert bool(counted) == (several or split)
    *looks, threshold = spent
    halved = (1, len(looks) - 1) if several else ()  # where a user moves two cells
    total = sum(one * (2 if place in halved else 1) for place, one in enumerate(looks))
    total += threshold * contribution + sum(counted)
    assert mechanism.mu_squared * Fraction(999_999, 10**6) < total <= mechanism.mu_squared
    assert len(looks) in (2, 7)  # with four rounds, and a look after them
    assert not split or (len(looks) == 2) == light


def longest_move(noisy: NoisyUsers, many: int) -> float:
    """The largest squared length, in units of the noise, of what a user with some of `many` named items changes."""
    along = noisy.own + many * noisy.shared
    return max((j - j * j / many) / noisy.own + j * j / many / along for j in range(1, many + 1))


def planted(light: bool) -> Relation:
    """3,000 users; items 0 to 9 are popular. Light users have one or two items, heavy ones about forty."""
    rng = np.random.default_rng(7)
    users, items = [], []
    for user in range(3_000):
        mine = {int(item) for item in np.flatnonzero(rng.random(10) < (0.1 if light else 0.5))}
        if not light:
            mine |= {int(item) for item in rng.integers(10, 40_000, 35)}
        users += [user] * len(mine)
        items += list(mine)
    return Relation(np.array(users, dtype=np.int64), np.array(items, dtype=np.int64))


@pytest.mark.long
@pytest.mark.parametrize("light", [True, False])
def test_popular_items_come_back_and_nobodys_own_do(light: bool) -> None:
    mechanism, entropy = Sieve(10, 1, "1e-6"), replay(f"planted {light}")
    for _ in range(5):
        selection = mechanism.release(planted(light), entropy)
        assert set(selection.items) <= set(range(10))
        assert len(selection) >= 8


def test_an_empty_table_names_nothing() -> None:
    none = Relation(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    for key in range(5):
        assert Sieve(10, 1, "1e-6").release(none, replay(key)) == Selection((), True)


def test_the_promise_uses_what_is_given_and_a_ledger_is_charged_for_it() -> None:
    mechanism = Sieve(10, 1, "1e-6")
    promise = mechanism.guarantee()
    assert promise.epsilon is not None
    assert Fraction(99, 100) <= promise.epsilon <= 1
    assert promise.delta == Fraction(1, 10**6)  # type: ignore[attr-defined] # it is approximate
    assert mechanism.cost().rho == mechanism.mu_squared / 2
    assert mechanism.cost().delta == Fraction(4, 10**7)
