"""The mechanism under test, ours or somebody else's: how to feed it, and how to read what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

from crestline.audit.claims import Claim, Law, claim
from crestline.audit.histogram_shapes import choose, stated_number
from crestline.audit.neighbours import Counts, HistogramShape, NeighbourPair, labels, pairs_with_counts
from crestline.audit.outcomes import Outcome, OutcomeReader, error_outcome
from crestline.audit.query_mechanisms import as_auditable
from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.pairs import Pairs
from crestline.histogram.view_kinds import view_of
from crestline.mechanisms.nested import smallest_contribution
from crestline.mechanisms.third_party import release_many_or_none
from crestline.randomness.entropy import Entropy

Seen: TypeAlias = Histogram | Pairs  # what a mechanism looks at, as its view says


@runtime_checkable
class Auditable(Protocol):
    """The least that can be attacked. `release_many`, `law`, `k`, `k_bar`, `contribution`, `domain` help if present."""

    def guarantee(self) -> object: ...

    def release(self, histogram: Seen, entropy: Entropy) -> object: ...


@dataclass(frozen=True)
class StatedOverrides:
    """What overrides the mechanism's own statements; None takes what the mechanism says.

    `contribution` is the most items of one user; 0 is no bound at all.
    """

    k_bar: int | None = None
    domain: str | None = None
    contribution: int | None = None


NOTHING_STATED = StatedOverrides()


@dataclass(frozen=True)
class AuditSubject:
    """A mechanism with the histograms it is attacked on."""

    mechanism: Auditable
    name: str
    claim: Claim
    promise: str
    k: int
    contribution: int | None
    entropy: Entropy
    shapes: tuple[HistogramShape, ...] = ()
    notes: tuple[str, ...] = ()
    read: OutcomeReader = field(default_factory=OutcomeReader)

    def histogram(self, counts: Counts, shape: HistogramShape, together: Sequence[str] = ()) -> Seen:
        """What the mechanism looks at. `together` are the items of one user; all other users have one item each."""
        view = view_of(self.mechanism)
        if view.kind == "pairs":
            return pairs_with_counts(counts, together)
        if view.kind == "observed":  # no user of a pair has more items than the noise covers: none weighs less
            step = view.weights[0]
            return ObservedItems.from_scores({label: step * count for label, count in counts.items()}, unit=step)
        if shape.k_bar is None:
            return Histogram.over_domain(dict.fromkeys(shape.domain, 0) | counts)
        return Histogram.from_counts(counts, shape.k_bar)

    def sample_side(self, pair: NeighbourPair, with_user: bool, n: int) -> Counter[Outcome]:
        """The outcomes of `n` releases of one of the two tables of a pair."""
        if with_user:
            return self.sample(pair.with_user, pair.shape, n, pair.items_of_user)
        return self.sample(pair.without, pair.shape, n)

    def sample(self, counts: Counts, shape: HistogramShape, n: int, together: Sequence[str] = ()) -> Counter[Outcome]:
        """The outcomes of `n` releases. An error is an outcome like any other."""
        histogram = self.histogram(counts, shape, together)
        many = release_many_or_none(self.mechanism)
        if many is None:
            return Counter(self._release_once(histogram) for _ in range(n))
        try:
            drawn = many(histogram, n, self.entropy)
            return Counter(map(self.read, drawn))
        except Exception as error:  # code of others may fail in any way
            return Counter({error_outcome(error): n})

    def law(self, counts: Counts, shape: HistogramShape) -> Law:
        """The law of the outcomes, as the mechanism states it."""
        result: dict[Outcome, float] = {}
        stated: Any = self.mechanism
        for value, chance in stated.law(self.histogram(counts, shape)).items():
            outcome = self.read(value)
            result[outcome] = result.get(outcome, 0.0) + chance
        return result

    @property
    def has_law(self) -> bool:
        return callable(getattr(self.mechanism, "law", None))

    def _release_once(self, histogram: Seen) -> Outcome:
        try:
            return self.read(self.mechanism.release(histogram, self.entropy))
        except Exception as error:  # code of others may fail in any way
            return error_outcome(error)


def prepare_subject(
    mechanism: object,
    entropy: Entropy,
    *,
    name: str = "",
    stated: StatedOverrides = NOTHING_STATED,
) -> AuditSubject:
    """Prepare a mechanism for the attack: read its promise, find histograms that it accepts."""
    named = name or type(mechanism).__name__
    tested = as_auditable(mechanism)
    if not isinstance(tested, Auditable):
        raise MechanismError("what is audited needs guarantee() and release(histogram, entropy)")
    try:
        guarantee = tested.guarantee()
    except Exception as error:  # code of others may fail in any way
        raise MechanismError(f"guarantee() raised {type(error).__name__}: {error}") from error
    promise, k = claim(guarantee), stated_number(tested, "k") or 1
    bound = smallest_contribution(tested) if stated.contribution is None else stated.contribution or None
    made = AuditSubject(tested, named, promise, str(guarantee), k, bound, entropy)
    choice = choose(tested, k=k, delta=promise.delta, k_bar=stated.k_bar, domain=stated.domain)
    errors = {shape: _first_error(made, shape) for shape in choice.shapes}
    accepted = tuple(shape for shape, error in errors.items() if error is None)
    if not accepted:
        raise MechanismError(f"release failed on every table: {next(iter(errors.values()))}; try --k-bar or --domain")
    return replace(made, shapes=accepted, notes=(choice.note,) if choice.note else ())


def _first_error(made: AuditSubject, shape: HistogramShape) -> str | None:
    """None when a plain table is released; otherwise what went wrong. (The tables here are ours, not private.)"""
    names = shape.domain or labels((shape.k_bar or 1) + 1)
    plain = {label: 40 + place for place, label in enumerate(names)}
    histogram = made.histogram(plain, shape)
    try:
        many = release_many_or_none(made.mechanism)
        if many is None:
            made.mechanism.release(histogram, made.entropy)
        else:
            many(histogram, 1, made.entropy)
    except Exception as error:  # code of others may fail in any way
        return f"{type(error).__name__}: {error}"
    return None
