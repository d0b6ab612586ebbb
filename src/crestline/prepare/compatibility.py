"""Checks that refuse, before anything is charged, what a mechanism would refuse after the rows are counted.

They depend on the mechanism, the question and public limits, and on no row.
"""

from __future__ import annotations

from crestline import mechanisms
from crestline.errors import MechanismError
from crestline.histogram.view_kinds import PAIRS, SLOTS, view_of
from crestline.mechanisms.mechanism import KNOWN, UNKNOWN, AnyMechanism
from crestline.mechanisms.nested import nested_mechanisms, smallest_contribution
from crestline.mechanisms.third_party import domain_of, unwrap_adopted
from crestline.question import NO_SNAPSHOT, Limits, Question


def check_compatible(question: Question, mechanism: AnyMechanism, name: str, public_list: bool) -> None:
    """Raise MechanismError for the wrong domain, or a score where noise is charged by a user's items (P1.1e)."""
    check_domain(domain_of(mechanism), name, public_list)
    if question.score is not None and any(_is_charged_by_items(part) for part in nested_mechanisms(mechanism)):
        raise MechanismError(
            "Laplace noise is charged by the number of a user's items: with a score, take mechanism='auto' or another "
            "mechanism, or leave contribution or counts out"
        )


def check_domain(domain: str | None, name: str, public_list: bool) -> None:
    """Raise MechanismError if the mechanism needs a public list that is not given, or does not take one that is."""
    if domain == KNOWN and not public_list:
        raise MechanismError(
            f"{name} needs the public list of all items: give domain=…, or take mechanism='auto' or another mechanism"
        )
    if domain == UNKNOWN and public_list:
        raise MechanismError(
            f"{name} is for items that are not publicly listed: leave domain out, or take mechanism='auto' or another "
            "mechanism"
        )


def check_view(question: Question, mechanism: AnyMechanism, name: str, limits: Limits) -> None:
    """Raise MechanismError if the question or its source cannot provide the mechanism's view."""
    kind = view_of(mechanism).kind
    shown_inside = (kind, SLOTS.kind) if kind == PAIRS.kind else (SLOTS.kind,)  # views of pairs have slots as well
    if any(
        view_of(part).kind not in shown_inside
        for part in nested_mechanisms(mechanism)
        if part is not unwrap_adopted(mechanism)
    ):
        raise MechanismError(f"{name} gives slots to an inner mechanism which needs all observed items or pairs")
    if kind == "pairs" and limits.several and not _is_for_several_periods(mechanism):
        raise MechanismError(
            f"{name} reads pairs of one period only: name one period, or take mechanism='Sieve' or another mechanism"
        )
    if kind not in limits.views_of(question):
        raise MechanismError(
            NO_SNAPSHOT
            if kind in limits.views
            else f"{name} needs more than a histogram of the largest items: give the table, or for Observed the scores "
            "of all observed items (ObservedItems.from_scores)"
            if "slots" in limits.views
            else f"{name} does not take scores of observed items: take mechanism='Observed', or give the table"
        )
    if kind == SLOTS.kind:
        return
    if question.passes is not None:
        raise MechanismError(f"{name} reads the table several times: leave passes out, or take another mechanism")
    if question.score is not None:
        raise MechanismError(f"{name} counts users: leave score out, or take mechanism='auto' or another mechanism")
    if kind == "pairs" and question.counts and not mechanism.counts:
        raise MechanismError(
            f"{name} publishes no counts: leave counts out, or take mechanism='Sieve', where counts cost nothing"
        )
    bound = smallest_contribution(mechanism)
    if question.contribution != bound:
        raise MechanismError(
            f"{name} finds its own bound on a user's items: leave contribution out, or take Observed"
            if bound is None
            else f"{name} was made for contribution={bound}: ask with that"
        )


def _is_for_several_periods(mechanism: AnyMechanism) -> bool:
    """Whether its noise is for neighbours that differ in the rows of one user in one of several periods."""
    inside = unwrap_adopted(mechanism)
    return isinstance(inside, mechanisms.Sieve) and inside.several


def _is_charged_by_items(mechanism: object) -> bool:
    """Whether a mechanism adds Laplace noise that is charged by the number of a user's items."""
    if isinstance(mechanism, mechanisms.NoisyCounts):
        return mechanism.contribution is not None and mechanism.noise == "laplace"
    return isinstance(mechanism, mechanisms.LimitedDomainLaplace)


def check_in_groups(question: Question, mechanism: AnyMechanism, name: str, public_list: bool) -> None:
    """Raise MechanismError if the mechanism would reveal that a group exists (P15.1), or does not take the options."""
    if public_list and question.groups is None:
        raise MechanismError(
            "a public list of items is offered with groups only if the list of groups is public too: give groups=[…], "
            "ask about one group with where=…, or leave domain out"
        )
    if public_list and question.floor > 1:
        raise MechanismError("a floor is for items that are not publicly listed: leave floor or domain out")
    view = view_of(mechanism)
    if view.kind == PAIRS.kind:
        _check_pairs_in_groups(question, mechanism, name)
    weighs, ours = len(set(view.weights)) > 1, isinstance(unwrap_adopted(mechanism), mechanisms.Observed)
    if question.floor > 1 and weighs and not ours:
        raise MechanismError(
            f"{name} weighs the items of a user, and above a floor such scores may be negative, which only Observed is "
            "known to take: leave floor out, or take Observed or another mechanism"
        )
    if question.groups is None and domain_of(mechanism) != UNKNOWN:
        raise MechanismError(
            f"{name} does not state domain='unknown', that it names nothing where there is nothing: only then may it "
            "be run in groups that are not publicly listed; or give groups=[…]"
        )


def _check_pairs_in_groups(question: Question, mechanism: AnyMechanism, name: str) -> None:
    """Raise MechanismError for a view of pairs that groups do not offer."""
    if not isinstance(unwrap_adopted(mechanism), mechanisms.Sieve):
        raise MechanismError(
            f"{name} reads all pairs of users and items, which with groups only Sieve can: take mechanism='Sieve', "
            "'auto' or another, or Observed with contribution=…"
        )
    if question.floor > 1 and question.groups is not None:
        # The answer states the margin of every listed group, so those below the floor would have to be read as well.
        raise MechanismError(
            f"{name} reads all pairs of every listed group, so that a floor would save nothing: leave floor or groups "
            "out"
        )
