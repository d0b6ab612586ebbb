"""The exact attack on groups: neighbours that differ in one group, in several, or in a new one (P15).

It tests that the law of the published groups keeps the promise on every small pair, and that the charge covers the
sum of the bills of any groups that one user may have, whatever is published.
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

Family: TypeAlias = Mapping[str, Counts]  # the counts of every group that has a user
Settle: TypeAlias = Callable[[GroupSelections], Cost]

_USERS = ({"a": 1}, {"b": 1}, {"a": 1, "b": 1})  # possible items of one user in a group
_GROUPS = "ghij"


@dataclass(frozen=True)
class FamilyPair:
    """Two families that differ by one user, and the reason to try them (`why`)."""

    with_user: Family
    without: Family
    why: str


@dataclass(frozen=True)
class FamilyFinding:
    """The pair that needs the largest δ at the claimed ε, and that δ."""

    delta: float
    pair: FamilyPair | None


def family_pairs(groups_per_user: int, sizes: Sequence[int] = (0, 1, 3, 7)) -> Iterator[FamilyPair]:
    """Pairs of families with two items a group, whose user has 1 to `groups_per_user` groups, perhaps new ones."""
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
    """Every publication that is charged less than the bills of some groups that one user may have.

    Yields the published groups, the charge, and the amount owed, in zCDP. An unpublished group owes the cost of an
    answer that names nothing (P15.2).
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
    """Families of the user's groups and of groups of others, with the user's items and without."""
    after = [
        {item: counts[item] + move.get(item, 0) for item in counts} for counts, move in zip(before, moves, strict=True)
    ]
    new = any(not any(counts.values()) for counts in before)
    why = f"{'a new group, ' if new else ''}{len(before)} of {len(before) + len(others)} groups"
    return FamilyPair(_non_empty_groups([*after, *others]), _non_empty_groups([*before, *others]), why)


def _non_empty_groups(groups: Sequence[Counts]) -> Family:
    """Groups that have a user, by name."""
    by_name = zip(_GROUPS, groups, strict=False)
    return {group: {item: n for item, n in counts.items() if n} for group, counts in by_name if any(counts.values())}
