"""The mechanism that is attacked, crestline's own or of another author: its inputs, and its outcomes."""

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
from crestline.histogram.relation import Relation
from crestline.histogram.view_kinds import view_of
from crestline.mechanisms.nested import smallest_contribution
from crestline.mechanisms.third_party import release_many_or_none
from crestline.randomness.entropy import Entropy

Seen: TypeAlias = Histogram | Relation  # the input of a mechanism, by its view


@runtime_checkable
class Auditable(Protocol):
    """Interface of a mechanism that can be attacked.

    `release_many`, `law`, `k`, `k_bar`, `contribution` and `domain` are used if present.
    """

    def guarantee(self) -> object: ...

    def release(self, histogram: Seen, entropy: Entropy) -> object: ...


@dataclass(frozen=True)
class StatedOverrides:
    """Values that override what a mechanism states about itself; None keeps its statement.

    Attributes:
        k_bar: Number of slots.
        domain: `known` or `unknown`.
        contribution: Most items of one user; 0: any number.
    """

    k_bar: int | None = None
    domain: str | None = None
    contribution: int | None = None


NOTHING_STATED = StatedOverrides()


@dataclass(frozen=True)
class AuditSubject:
    """A mechanism, its claim, and the shapes of the histograms that it is attacked on."""

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
        """The mechanism's input with these counts.

        Where the input is pairs, one user has the items `together`, and every other user has one item.
        """
        view = view_of(self.mechanism)
        if view.kind == "pairs":
            return pairs_with_counts(counts, together)
        if view.kind == "observed":  # no user has more items than the noise covers, so all have the first weight
            step = view.weights[0]
            return ObservedItems.from_scores({label: step * count for label, count in counts.items()}, unit=step)
        if shape.k_bar is None:
            return Histogram.over_domain(dict.fromkeys(shape.domain, 0) | counts)
        return Histogram.from_counts(counts, shape.k_bar)

    def sample_side(self, pair: NeighbourPair, with_user: bool, n: int) -> Counter[Outcome]:
        """Outcomes of `n` releases on one of the two tables of a pair."""
        if with_user:
            return self.sample(pair.with_user, pair.shape, n, pair.items_of_user)
        return self.sample(pair.without, pair.shape, n)

    def sample(self, counts: Counts, shape: HistogramShape, n: int, together: Sequence[str] = ()) -> Counter[Outcome]:
        """Outcomes of `n` releases; an error is an outcome too."""
        histogram = self.histogram(counts, shape, together)
        many = release_many_or_none(self.mechanism)
        if many is None:
            return Counter(self._release_once(histogram) for _ in range(n))
        try:
            selections = many(histogram, n, self.entropy)
            return Counter(map(self.read, selections))
        except Exception as error:  # code of another author may raise anything
            return Counter({error_outcome(error): n})

    def law(self, counts: Counts, shape: HistogramShape) -> Law:
        """Law of the outcomes, as the mechanism states it. Requires `has_law`."""
        result: dict[Outcome, float] = {}
        with_law: Any = self.mechanism
        for value, chance in with_law.law(self.histogram(counts, shape)).items():
            outcome = self.read(value)
            result[outcome] = result.get(outcome, 0.0) + chance
        return result

    @property
    def has_law(self) -> bool:
        """Whether the mechanism states a law."""
        return callable(getattr(self.mechanism, "law", None))

    def _release_once(self, histogram: Seen) -> Outcome:
        try:
            return self.read(self.mechanism.release(histogram, self.entropy))
        except Exception as error:  # code of another author may raise anything
            return error_outcome(error)


def prepare_subject(
    mechanism: object,
    entropy: Entropy,
    *,
    name: str = "",
    stated: StatedOverrides = NOTHING_STATED,
) -> AuditSubject:
    """Prepare a mechanism for `attack`: read its guarantee and find shapes of histograms that it accepts.

    Args:
        mechanism: An object with `guarantee()` and `release(histogram, entropy)`, or a mechanism over queries.
        entropy: Random bits for the mechanism.
        name: Name in the report; by default that of the class.
        stated: Overrides of what the mechanism states about itself.

    Returns:
        The subject of the attack.

    Raises:
        MechanismError: The object states no guarantee that can be read, or its release fails on every table.
        ParameterError: `stated` has an invalid `k_bar` or domain.
    """
    subject_name = name or type(mechanism).__name__
    auditable = as_auditable(mechanism)
    if not isinstance(auditable, Auditable):
        raise MechanismError("a mechanism needs guarantee() and release(histogram, entropy)")
    try:
        guarantee = auditable.guarantee()
    except Exception as error:  # code of another author may raise anything
        raise MechanismError(f"guarantee() raised {type(error).__name__}: {error}") from error
    promise, k = claim(guarantee), stated_number(auditable, "k") or 1
    bound = smallest_contribution(auditable) if stated.contribution is None else stated.contribution or None
    subject = AuditSubject(auditable, subject_name, promise, str(guarantee), k, bound, entropy)
    choice = choose(auditable, k=k, delta=promise.delta, k_bar=stated.k_bar, domain=stated.domain)
    errors = {shape: _first_error(subject, shape) for shape in choice.shapes}
    accepted_shapes = tuple(shape for shape, error in errors.items() if error is None)
    if not accepted_shapes:
        raise MechanismError(f"release failed on every table: {next(iter(errors.values()))}; try --k-bar or --domain")
    return replace(subject, shapes=accepted_shapes, notes=(choice.note,) if choice.note else ())


def _first_error(subject: AuditSubject, shape: HistogramShape) -> str | None:
    """Error of a release on a plain table, as text; None if it succeeds.

    The table is invented, so the text is not private.
    """
    names = shape.domain or labels((shape.k_bar or 1) + 1)
    plain = {label: 40 + place for place, label in enumerate(names)}
    histogram = subject.histogram(plain, shape)
    try:
        many = release_many_or_none(subject.mechanism)
        if many is None:
            subject.mechanism.release(histogram, subject.entropy)
        else:
            many(histogram, 1, subject.entropy)
    except Exception as error:  # code of another author may raise anything
        return f"{type(error).__name__}: {error}"
    return None
