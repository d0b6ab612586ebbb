"""A mechanism that runs in every group: its cost to a user of several groups, what is published and charged (P15).

Guarantee   the composition, without adaptivity, of one release for each group of a user (P15.1)
Assumes     every user counts in at most `groups_per_user` groups; on an empty histogram the mechanism names nothing
            with certainty, or the list of groups is public
Proof note  docs/proofs/groups.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature

from crestline.errors import MechanismError
from crestline.guarantees import accountants
from crestline.guarantees.cost import Cost, RepeatedStep
from crestline.guarantees.guarantee import Guarantee
from crestline.guarantees.root_finding import largest_within, rough_values
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label, label_order
from crestline.histogram.view_kinds import SeenInGroups
from crestline.mechanisms.mechanism import AnyMechanism
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import GroupSelections, Selection
from crestline.randomness.entropy import Entropy

Making = Callable[[PrivacyTotal], AnyMechanism]  # from a total to the mechanism within it

_NOTHING = Selection((), stopped=True)
_DIGITS = 4  # digits to which a total is used up: more would not reduce margins noticeably


@dataclass(frozen=True)
class InGroups:
    """A mechanism that runs in every group, with independent noise in each.

    Attributes:
        mechanism: The mechanism.
        groups_per_user: Most groups of one user, who pays for this number of releases, not for one in every group.
        slack: Failure probability of the accountant that composes those releases.
        public: Whether the list of groups is public: then every group is published, also an empty one.
    """

    mechanism: AnyMechanism
    groups_per_user: int
    slack: Fraction
    public: bool = False

    @classmethod
    def from_mechanism(
        cls, mechanism: AnyMechanism, groups_per_user: int, *, delta: Fraction | None = None, public: bool = False
    ) -> InGroups:
        """Wrap a given mechanism.

        The slack is what a total `delta` leaves after the δ of the steps; without a total, what the mechanism itself
        reserves for composing its own steps, once for each group of a user.
        """
        failure = mechanism.cost().delta
        if delta is None:
            delta = groups_per_user * getattr(mechanism.guarantee(), "delta", failure)
        return cls(mechanism, groups_per_user, max(Fraction(0), delta - groups_per_user * failure), public)

    @classmethod
    def fit_within(cls, make: Making, total: PrivacyTotal, groups_per_user: int) -> InGroups:
        """The mechanism whose copies, one for each group of a user, are within a total; all steps are composed at
        once.

        A mechanism that needs no δ for composing its own steps may need some for composing the copies: half of it is
        tried, and used if the margin is then smaller.
        """
        if groups_per_user == 1:
            return cls.from_mechanism(make(total), 1)
        plain = cls._fit_copies(make, total, groups_per_user, Fraction(1))
        if plain.slack:
            return plain
        tight = cls._fit_copies(make, total, groups_per_user, Fraction(1, 2))
        return min((plain, tight), key=lambda made: _margin_or_infinity(made.mechanism))

    @classmethod
    def _fit_copies(cls, make: Making, total: PrivacyTotal, groups_per_user: int, share: Fraction) -> InGroups:
        """The largest ε of one copy with which all copies are within the total; a share of δ is for the copies."""

        def copies_of_size(size: Fraction) -> InGroups:
            copy = replace(total, epsilon=size, delta=share * total.delta / groups_per_user)
            with rough_values():  # what is promised is the total of all copies, computed below
                made = make(copy)
            return cls.from_mechanism(made, groups_per_user, delta=total.delta)

        def total_epsilon_of(size: Fraction) -> Fraction:
            promised = copies_of_size(size).guarantee().epsilon
            assert promised is not None, "a mechanism within a total has an ε"
            return promised

        return copies_of_size(
            largest_within(total_epsilon_of, total.epsilon, start=total.epsilon / groups_per_user, digits=_DIGITS)
        )

    def cost(self) -> Cost:
        """Worst case: the cost of one release for each group of a user (P15.1)."""
        return _cost_times(self.mechanism.cost(), self.groups_per_user)

    def guarantee(self) -> Guarantee:
        """The promise for all groups together."""
        if self.groups_per_user == 1:
            return self.mechanism.guarantee()
        known = self.mechanism.guarantee_in_groups(self.groups_per_user)
        if known is not None:
            return known
        of_one, _, _ = self.mechanism.guarantee().theorem.partition(
            ";"
        )  # without the theorem that composed its own steps
        return accountants.total(self.cost(), self.slack, theorem=f"P15.1, {of_one}" if of_one else "P15.1")

    def settlement_cost(self, published: GroupSelections) -> Cost:
        """Sum of the largest bills over all groups, in the data or not; δ is never given back (P15.2).

        A group that is not published counts with the cost of an answer that names nothing. The largest bills must be
        the same in every measure of cost; where they are not, the worst case stays charged.
        """
        whole, most = self.cost(), self.groups_per_user
        bills = [self.mechanism.settlement_cost(selection) for _, selection in published.groups]
        bills += [self.mechanism.settlement_cost(_NOTHING)] * most
        ranked = sorted(bills, key=lambda bill: bill.rho, reverse=True)
        if not _is_descending([bill.epsilon for bill in ranked]):
            return whole
        charged = sum((bill.steps for bill in ranked[:most]), ())
        return Cost(charged, whole.delta)

    def release(self, tables: Iterable[SeenInGroups], entropy: Entropy) -> GroupSelections:
        """One release for every group, table after table.

        A group without a named item is dropped, unless the list of groups is public.
        """
        published: list[tuple[Label, Selection]] = []
        for table in tables:
            each = self.mechanism.release_groups(table, entropy)
            released = zip(table.groups, each, strict=True)
            published += [(group, selection) for group, selection in released if self.is_published(selection)]
        return GroupSelections(tuple(sorted(published, key=lambda part: label_order(part[0]))))

    def is_published(self, selection: Selection) -> bool:
        """Whether a group with this selection is published."""
        return self.public or bool(selection.items)

    def law(self, family: Mapping[Label, Histogram]) -> Mapping[GroupSelections, float]:
        """Exact probability of every publication for a few groups with small histograms.

        Raises:
            MechanismError: The mechanism has no law.
        """
        law = self.mechanism.law
        if law is None:
            raise MechanismError("the mechanism does not state its law")
        together: dict[GroupSelections, float] = {GroupSelections(()): 1.0}
        for label in sorted(family, key=label_order):
            alone: defaultdict[GroupSelections, float] = defaultdict(float)
            for selection, chance in law(family[label]).items():
                alone[GroupSelections(((label, selection),) if self.is_published(selection) else ())] += chance
            together = {
                GroupSelections(so_far.groups + more.groups): likely * chance
                for so_far, likely in together.items()
                for more, chance in alone.items()
            }
        return together


def fit_in_groups(fit: Callable[..., AnyMechanism], total: PrivacyTotal, groups_per_user: int) -> AnyMechanism:
    """The mechanism whose releases in all groups of a user are within a total.

    Uses the mechanism's own theorem for all groups of a user where it has one, otherwise composition (P15.1).
    """
    if groups_per_user == 1:
        return fit(total)
    if "groups" in signature(fit).parameters:
        return fit(total, groups=groups_per_user)
    return InGroups.fit_within(fit, total, groups_per_user).mechanism


def _cost_times(cost: Cost, copies: int) -> Cost:
    return Cost(tuple(RepeatedStep(part.step, part.times * copies) for part in cost.steps), cost.delta * copies)


def _is_descending(sizes: list[Fraction | None]) -> bool:
    """Whether pure costs descend too, or no bill has one."""
    known = [size for size in sizes if size is not None]
    return len(known) in (0, len(sizes)) and known == sorted(known, reverse=True)


def _margin_or_infinity(mechanism: AnyMechanism) -> float:
    margin = mechanism.margin
    return float("inf") if margin is None else float(margin())
