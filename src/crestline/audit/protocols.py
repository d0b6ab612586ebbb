"""Interfaces of testers: what they attack, and the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from crestline.audit.claims import Claim
from crestline.audit.neighbours import NeighbourPair
from crestline.audit.outcomes import Outcome

if TYPE_CHECKING:
    from crestline.audit.target import AuditSubject


@dataclass(frozen=True)
class AttackResult:
    """The worst finding of one tester.

    For the exact tester both chances are probabilities. For the statistical tester `chance` is a lower and
    `chance_on_neighbour` an upper confidence bound; all bounds hold at once except with the audit's error probability.

    Attributes:
        method: `exact` or `sampled`.
        pair: The neighbouring tables.
        strength: Smallest parameter of the claim that allows both laws, or both confidence bounds.
        broken: Whether that exceeds the claimed parameter by more than rounding.
        event: The event in words.
        likelier_with_user: Whether the event is likelier on the table with the user.
        chance: Probability of the event on the table where it is likelier.
        chance_on_neighbour: Probability of the event on the other table.
        tells: Whether an outcome lies in the event.
    """

    method: str
    pair: NeighbourPair
    strength: float
    broken: bool
    event: str
    likelier_with_user: bool
    chance: float
    chance_on_neighbour: float
    tells: Callable[[Outcome], bool] = field(default=lambda outcome: False, repr=False, compare=False)


class AuditTarget(Protocol):
    """A mechanism that can be attacked by running it: a claim, and releases on either table of a pair."""

    @property
    def claim(self) -> Claim: ...

    @property
    def contribution(self) -> int | None: ...

    def sample_side(self, pair: NeighbourPair, with_user: bool, n: int) -> Counter[Outcome]: ...


class Tester(Protocol):
    """A kind of attack. `test` returns its worst finding among the pairs, or None if it has none."""

    def test(self, subject: AuditSubject, pairs: Sequence[NeighbourPair]) -> AttackResult | None: ...
