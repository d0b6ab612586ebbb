"""The exact attack on a family of groups: neighbours that differ in one group, in several, in a new one (P15).

Two questions are asked. Is the law of everything that is published within the promise, on every small pair? And is what
is charged at least the sum of the bills of any groups that one user may have touched, whatever came back?
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import TypeAlias

from crestline.audit.claims import Law
from crestline.audit.neighbours import Counts
from crestline.audit.testers.exact import hockey_stick_divergence
from crestline.guarantees.cost import Cost
from crestline.mechanisms.selection import GroupSelections, Selection

Family: TypeAlias = Mapping[str, Counts]  # the counts of every group that somebody has
Settle: TypeAlias = Callable[[GroupSelections], Cost]

_USERS = ({"a": 1}, {"b": 1}, {"a": 1, "b": 1})  # what one user may have in a group
_GROUPS = "ghij"


@dataclass(frozen=True)
class FamilyPair:
    """Two families that differ by one user, and what is special about them."""

    with_user: Family
    without: Family
    why: str


@dataclass(frozen=True)
class FamilyFinding:
    """The worst pair found, and how much δ the claimed ε needs there."""

    delta: float
    pair: FamilyPair | None


def family_pairs(groups_per_user: int, sizes: Sequence[int] = (0, 1, 3, 7)) -> Iterator[FamilyPair]:
    """Every pair of families of two items a group: a user in one to `groups_per_user` groups, which may be new ones."""
    histograms = [{"a": first, "b": second} for first, second in product(sizes, repeat=2)]
    for many in range(1, groups_per_user + 1):
        for before in product(histograms, repeat=many):
            for moves in product(_USERS, repeat=many):
                yield _build_pair(before, moves, others=[])
    for counts in histograms:
        for other in ({"a": sizes[-1], "b": 0}, {"a": 1, "b": 1}):
            yield _build_pair([counts], _USERS[:1], others=[other, other])


def worst_family(law_of: Callable[[Family], Law], pairs: Iterable[FamilyPair], epsilon: float) -> FamilyFinding:
    """The pair, in either order, that needs the largest δ at this ε."""
    worst = FamilyFinding(0.0, None)
    for pair in pairs:
        first, second = law_of(pair.with_user), law_of(pair.without)
        delta = max(hockey_stick_divergence(first, second, epsilon), hockey_stick_divergence(second, first, epsilon))
        if delta > worst.delta:
            worst = FamilyFinding(delta, pair)
    return worst


def undercharged_selections(
    settle: Settle, bill: Callable[[Selection], Cost], outcomes: Sequence[Selection], groups_per_user: int
) -> Iterator[tuple[GroupSelections, Fraction, Fraction]]:
    """Whatever is published and charged less than the bills of some groups that one user may have.

    The published groups, what is charged and what is owed, in zCDP. A group without a name owes what an answer that
    names nothing costs (P15.2).
    """
    nothing = [bill(Selection((), stopped=True))] * groups_per_user
    for many in range(groups_per_user + 2):
        for released in product(outcomes, repeat=many):
            published = GroupSelections(tuple(zip(_GROUPS, released, strict=False)))
            charged, bills = settle(published), [*map(bill, released), *nothing]
            owed = max(sum(cost.rho for cost in some) for some in combinations(bills, groups_per_user))
            if charged.rho < owed or charged.delta < groups_per_user * bill(Selection((), stopped=True)).delta:
                yield published, charged.rho, Fraction(owed)


def _build_pair(before: Sequence[Counts], moves: Sequence[Counts], others: Sequence[Counts]) -> FamilyPair:
    """The user's groups first, then groups of other people."""
    after = [
        {item: counts[item] + move.get(item, 0) for item in counts} for counts, move in zip(before, moves, strict=True)
    ]
    new = any(not any(counts.values()) for counts in before)
    why = f"{'a new group, ' if new else ''}{len(before)} of {len(before) + len(others)} groups"
    return FamilyPair(_non_empty_groups([*after, *others]), _non_empty_groups([*before, *others]), why)


def _non_empty_groups(groups: Sequence[Counts]) -> Family:
    """Groups by name; one that nobody has is not there."""
    named = zip(_GROUPS, groups, strict=False)
    return {group: {item: n for item, n in counts.items() if n} for group, counts in named if any(counts.values())}
