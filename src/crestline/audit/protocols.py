"""What an attack found: two neighbours, what tells them apart, and how much of a promise that would need."""

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
    """The worst that one tester found. `strength` is in the unit of the claim; `tells` is the event as a function.

    For the exact tester the numbers are probabilities; for the statistical one they are confidence bounds, which all
    hold together except with the audit's error probability.
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
    """What can be attacked by running it: a promise, and releases of either table of a pair."""

    @property
    def claim(self) -> Claim: ...

    @property
    def contribution(self) -> int | None: ...

    def sample_side(self, pair: NeighbourPair, with_user: bool, n: int) -> Counter[Outcome]: ...


class Tester(Protocol):
    """A way of attacking: the worst it finds among these pairs, or None when it could say nothing."""

    def test(self, subject: AuditSubject, pairs: Sequence[NeighbourPair]) -> AttackResult | None: ...
