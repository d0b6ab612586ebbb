"""Ways to get groups wrong, each of which the attack must notice (P15)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

from crestline.guarantees.cost import Cost
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.mechanisms.in_groups import InGroups
from crestline.mechanisms.selection import GroupSelections, Selection


@dataclass(frozen=True)
class EveryGroupListed(InGroups):
    """Lists every group that somebody has, also when nothing in it could be named."""

    def is_published(self, selection: Selection) -> bool:
        return True


@dataclass(frozen=True)
class FewGroupsRead(InGroups):
    """Reads at most so many of the groups that somebody has: those of the smallest hash of their labels."""

    most: int = 1

    def law(self, family: Mapping[Label, Histogram]) -> Mapping[GroupSelections, float]:
        orders, together = list(permutations(family)), dict[GroupSelections, float]()
        for order in orders:
            read = {label: family[label] for label in order[: self.most]}
            for published, chance in super().law(read).items():
                together[published] = together.get(published, 0.0) + chance / len(orders)
        return together


def settled_at_the_mean(family: InGroups, published: GroupSelections) -> Cost:
    """As many bills as a user has groups, each of the mean size."""
    bills = [family.mechanism.settlement_cost(selection) for _, selection in published.groups]
    bills += [family.mechanism.settlement_cost(Selection((), stopped=True))] * family.groups_per_user
    ranked = sorted(bills, key=lambda bill: bill.rho)
    first = (len(ranked) - family.groups_per_user) // 2
    middle = ranked[first : first + family.groups_per_user]
    return Cost(sum((bill.steps for bill in middle), ()), family.cost().delta)


def only_listed_groups_pay(family: InGroups, published: GroupSelections) -> Cost:
    """Groups in which nothing was named cost nothing."""
    bills = [family.mechanism.settlement_cost(selection) for _, selection in published.groups]
    ranked = sorted(bills, key=lambda bill: bill.rho, reverse=True)[: family.groups_per_user]
    return Cost(sum((bill.steps for bill in ranked), ()), family.cost().delta)


def only_the_largest_pays(family: InGroups, published: GroupSelections) -> Cost:
    """One group's bill, though a user may have several."""
    bills = [family.mechanism.settlement_cost(selection) for _, selection in published.groups]
    bills.append(family.mechanism.settlement_cost(Selection((), stopped=True)))
    return Cost(max(bills, key=lambda bill: bill.rho).steps, family.cost().delta)


def delta_is_given_back(family: InGroups, published: GroupSelections) -> Cost:
    """The failure probability of groups that are not listed is given back."""
    whole = family.settlement_cost(published)
    return Cost(whole.steps, whole.delta * len(published.groups) / (1 + len(published.groups)))
