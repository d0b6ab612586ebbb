"""Counts of what was named, as a step of their own: its noise, its exact audit after a threshold, and broken twins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chi2, norm
from tests.mechanisms.observed.test_observed import User, neighbours, scored

from crestline.guarantees.gaussian import delta_of, largest_mu_squared
from crestline.mechanisms.observed.count_step import NoisyUsers, across, add_noise_to_users, best_stretch
from crestline.mechanisms.observed.noisy_query import sigma_for
from crestline.mechanisms.observed.sieve import Sieve
from crestline.mechanisms.observed.thresholds import gaussian_threshold
from crestline.mechanisms.observed.weights import UNIT, gaussian_weights
from crestline.randomness.entropy import replay

CHANCE = 1e-7


def variances(many: int, mu_squared: Fraction, *, several: bool = False) -> NoisyUsers:
    """What the noise of counts is, whatever they are."""
    return add_noise_to_users([0] * many, mu_squared, replay("any"), several=several)


def lengths(noise: NoisyUsers, many: int) -> Iterator[float]:
    """Squared length, whitened by the inverse covariance, of every move that one user can make."""
    inverse = np.linalg.inv(noise.own * np.eye(many) + noise.shared)
    for move in product((0.0, 1.0), repeat=many):
        yield float(np.array(move) @ inverse @ np.array(move))


@pytest.mark.parametrize("many", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("several", [False, True])
def test_no_set_of_named_items_of_one_user_moves_more_than_is_paid_for(many: int, several: bool) -> None:
    mu_squared = Fraction(3, 7)
    longest = max(lengths(variances(many, mu_squared, several=several), many))
    assert 0.9 * float(mu_squared) < longest <= float(mu_squared) * (1 + 1e-9)


@pytest.mark.parametrize("many", [10, 50, 1000])
def test_the_bound_on_a_move_is_tight_for_any_number_of_items(many: int) -> None:
    noise, mu_squared = variances(many, Fraction(3, 7)), 3 / 7
    along = noise.own + many * noise.shared
    longest = max((j - j * j / many) / noise.own + j * j / many / along for j in range(many + 1))
    assert 0.95 * mu_squared < longest <= mu_squared * (1 + 1e-9)
    assert math.sqrt(noise.own + noise.shared) < 0.69 * math.sqrt(many / mu_squared)  # of noise in every direction
    assert noise.own == pytest.approx(many * across(best_stretch(many)) / mu_squared)


def test_noise_of_the_order_in_every_direction_is_caught() -> None:
    """A variance of c/4 is enough for what is orthogonal to (1, …, 1), and not for whole counts (P23.6)."""
    mu_squared = Fraction(1, 25)
    twin = NoisyUsers(np.zeros(8), 8 / 4 / float(mu_squared), 0.0)
    assert max(lengths(twin, 8)) == pytest.approx(4 * float(mu_squared))
    assert delta_of(1, 4 * mu_squared) > 1000 * delta_of(1, mu_squared)


def test_noise_for_capped_counts_on_whole_ones_is_caught() -> None:
    """Where each user adds 1/√d to each of d named items the length is one, and √c where each adds one."""
    mu_squared = largest_mu_squared(Fraction(1), Fraction(1, 10**6))
    twin = NoisyUsers(np.zeros(10), 1 / float(mu_squared), 0.0)
    assert max(lengths(twin, 10)) == pytest.approx(10 * float(mu_squared))
    assert delta_of(1, 10 * mu_squared) > 10_000 * delta_of(1, mu_squared)


@pytest.mark.parametrize("users", [[5], [7, 100, 3], [10**12, 0]])
def test_counts_are_those_of_the_ideal_noise_for_any_first_bits(users: list[int]) -> None:
    first, *others = (
        add_noise_to_users(users, Fraction(1, 9), replay("bits", first_bits=bits)).values.tolist()
        for bits in (64, 3, 1)
    )
    assert others == [first, first]
    assert add_noise_to_users([], Fraction(1, 9), replay("none")).values.tolist() == []


@pytest.mark.statistics
@pytest.mark.parametrize("factor", [1.0, 0.93, 1.07])
def test_noise_has_its_variance_along_and_across_and_seven_percent_of_sigma_are_noticed(factor: float) -> None:
    """4,000 draws of four counts: sums of squares against χ², which a tenth of a σ leaves with certainty."""
    trials, many, mu_squared, entropy = 4_000, 4, Fraction(1, 50), replay("variance")
    drawn = np.array([add_noise_to_users([40, 30, 20, 10], mu_squared, entropy).values for _ in range(trials)])
    noise = (drawn - [40, 30, 20, 10]) / factor
    known = variances(many, mu_squared)
    along = noise.sum(axis=1) / math.sqrt(many)
    rest = noise - noise.mean(axis=1, keepdims=True)
    sums = float((along**2).sum() / (known.own + many * known.shared)), float((rest**2).sum() / known.own)
    likely = [
        2 * min(chi2.cdf(found, freedom), chi2.sf(found, freedom)) > CHANCE
        for found, freedom in zip(sums, (trials, trials * (many - 1)), strict=True)
    ]
    assert all(likely) == (factor == 1.0)


class Audited:
    """A threshold, then the numbers of users of what it named: as in the sieve, with exact laws (P28.2).

    An outcome is the set of named items and the noisy vector of their numbers of users: for each set the hockey stick
    of two Gaussian laws is known. A broken twin has less noise, or a threshold for one new item.
    """

    def __init__(
        self, mechanism: Sieve, *, share: Fraction = Fraction(1, 2), noise: float = 1.0, new: int = 3, each: int = 1
    ) -> None:
        sigma = sigma_for(mechanism.mu_squared * share / each)
        self.sigma, self.weights = float(sigma), gaussian_weights(each, 3)
        self.threshold = float(gaussian_threshold(each, new, sigma, mechanism.delta_new))
        self.left, self.noise = mechanism.mu_squared * (1 - share), noise

    def sets(self, users: tuple[User, ...], crowd: int) -> dict[frozenset[str], float]:
        """The probability of each set of named items, beside a crowd that gives all three the same score."""
        scores = {name: score / UNIT for name, score in scored(users, self.weights).items()}
        if crowd:
            scores = {name: scores.get(name, 0.0) + crowd for name in "abc"}
        pass_by = {name: float(norm.sf((self.threshold - score) / self.sigma)) for name, score in scores.items()}
        return {
            frozenset(named): math.prod(chance if name in named else 1 - chance for name, chance in pass_by.items())
            for size in range(len(pass_by) + 1)
            for named in combinations(pass_by, size)
        }

    def delta(self, more: tuple[User, ...], less: tuple[User, ...], epsilon: float, crowd: int = 0) -> float:
        """The larger δ of both directions; the first has one user more, the first one of its list that is missing."""
        extra = set(next(user for user in more if more.count(user) > less.count(user)))
        left, right = self.sets(more, crowd), self.sets(less, crowd)
        found = [0.0, 0.0]
        for named in left.keys() | right.keys():
            moved = self._moved(len(extra & named), len(named))
            for way, (one, other) in enumerate(((left, right), (right, left))):
                found[way] += gaussian_stick(one.get(named, 0.0), other.get(named, 0.0), moved, epsilon)
        return max(found)

    def _moved(self, own: int, many: int) -> float:
        if not many:
            return 0.0
        known = noise_of(many, self.left)
        return math.sqrt(
            (own - own * own / many) / known.own + own * own / many / (known.own + many * known.shared)
        ) / (self.noise)


noise_of = cache(variances)


def gaussian_stick(left: float, right: float, moved: float, epsilon: float) -> float:
    """`sup_S left P(S) - e^ε right Q(S)` of two Gaussian laws whose means are `moved` standard deviations apart."""
    if not left or not right or not moved:
        return max(0.0, left - math.exp(epsilon) * right)
    bar = (epsilon + math.log(right / left)) / moved
    return float(left * norm.cdf(moved / 2 - bar) - math.exp(epsilon) * right * norm.cdf(-moved / 2 - bar))


def worst(audited: Audited, epsilon: float) -> float:
    return max(audited.delta(more, less, epsilon, crowd) for more, less in neighbours() for crowd in (0, 200))


@pytest.mark.statistics
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.05"), ("1", "0.001")])
@pytest.mark.parametrize(("share", "each"), [(Fraction(15, 100), 1), (Fraction(65, 100), 3)])
def test_a_threshold_and_counts_of_what_it_names_keep_the_promise_on_all_small_neighbours(
    epsilon: str, delta: str, share: Fraction, each: int
) -> None:
    found = worst(Audited(Sieve(2, epsilon, delta), share=share, each=each), float(epsilon))
    assert 0.3 * float(delta) < found <= float(delta)


@pytest.mark.statistics
def test_a_third_of_the_noise_of_counts_is_caught() -> None:
    assert worst(Audited(Sieve(2, "1", "0.001"), share=Fraction(1, 10), noise=1 / 3), 1.0) > 5 * 0.001


@pytest.mark.statistics
def test_a_threshold_for_one_new_item_before_counts_is_caught() -> None:
    assert worst(Audited(Sieve(2, "0.5", "0.05"), share=Fraction(9, 10), new=1, each=3), 0.5) > 1.1 * 0.05


@pytest.mark.parametrize(("epsilon", "delta"), [(Fraction(1), Fraction(1, 10**6)), (Fraction(1, 10), Fraction(1, 100))])
def test_counts_after_a_threshold_that_spends_all_of_delta_twice_are_caught(epsilon: Fraction, delta: Fraction) -> None:
    """`Observed` alone keeps the maximum of δ for new items and for shared ones (P17.3): a user all of whose kept items
    are new shares none. Counts of named items move as well, so that after them the sum is what is kept (P23.3)."""
    share = Fraction(85, 100)

    def spent(mu_squared: Fraction, new: float) -> float:
        moved = math.sqrt(float(share * mu_squared))
        return new + gaussian_stick(1 - new, 1.0, moved, float(epsilon))

    alone = largest_mu_squared(epsilon, delta)
    assert spent(alone, float(delta)) > 1.1 * float(delta)
    sieve = Sieve(2, epsilon, delta)
    assert spent(sieve.mu_squared, float(sieve.delta_new)) < float(delta)
