"""What `auto` takes: by the question, what the budget adds up, and public limits; and that it spends the total."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from crestline.errors import MechanismError, ParameterError
from crestline.ledger.budget import Budget
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.prepare import prepare
from crestline.prepare.auto_rules import RULES, auto_mechanism_names, best_rule, candidate_rules
from crestline.question import Limits, Question
from crestline.score import Sum

RHO = Budget(epsilon=10, delta="1e-5")
PURE = Budget(epsilon=10, delta="1e-5", kind="pure")
ITEMS = Budget(epsilon=10, delta="1e-5", kind="homogeneous", items=100, questions=10)
SLOTS = Limits(views=("slots",))


@pytest.mark.parametrize(
    ("asked", "budget", "wanted"),
    [
        ({"k": 1}, None, "Routed"),
        ({"k": 10}, None, "Routed"),
        ({"k": 100}, None, "Sieve"),
        ({"k": 10}, RHO, "Sieve"),
        ({"k": 100}, RHO, "Sieve"),
        ({"k": 10, "ordered": False}, RHO, "Sieve"),
        ({"k": 10}, PURE, "OrderedStaircase"),
        ({"k": 11}, PURE, "LimitedDomain"),
        ({"k": 10}, ITEMS, "LimitedDomain"),
        ({"k": 10, "contribution": 5}, ITEMS, "LimitedDomain"),
        ({"k": 10, "ordered": False}, None, "Staircase"),
        ({"k": 1, "ordered": False}, None, "Routed"),
        ({"k": 11, "ordered": False}, None, "Sieve"),
        ({"k": 10, "passes": 1}, None, "OrderedStaircase"),
        ({"k": 11, "passes": 1}, None, "RestrictedGumbel"),
        ({"k": 10, "passes": 1, "ordered": False}, None, "Staircase"),
        ({"k": 10, "k_bar": 60}, None, "OrderedStaircase"),
        ({"k": 50, "k_bar": 60}, None, "RestrictedGumbel"),
        ({"k": 10, "passes": 1}, RHO, "RestrictedGumbel"),
        ({"k": 1, "passes": 1}, RHO, "LimitedDomain"),
        ({"k": 10, "counts": True}, None, "Sieve"),
        ({"k": 10, "counts": True, "ordered": False}, None, "Sieve"),
        ({"k": 10, "counts": True}, PURE, "OrderedStaircase"),
        ({"k": 50, "score": Sum("v", 9)}, None, "RestrictedGumbel"),
        ({"k": 50, "contribution": 5}, None, "Observed"),
        ({"k": 50, "contribution": 5, "counts": True}, RHO, "Observed"),
        ({"k": 50, "contribution": 5, "counts": True}, PURE, "Observed"),
        ({"k": 50, "contribution": 5, "passes": 1}, None, "LimitedDomainGauss"),
        ({"k": 50, "contribution": 3, "passes": 1}, None, "LimitedDomainLaplace"),
        ({"k": 50, "contribution": 3, "passes": 1}, RHO, "LimitedDomainGauss"),
        ({"k": 50, "contribution": 2, "score": Sum("v", 1)}, None, "LimitedDomainGauss"),
        ({"k": 50, "contribution": 10**6}, None, "LimitedDomainGauss"),
    ],
)  # fmt: skip
def test_the_rules(asked: dict[str, Any], budget: Budget | None, wanted: str) -> None:
    assert best_rule(Question(**asked), budget=budget).name == wanted


@pytest.mark.parametrize(
    ("k", "contribution", "wanted"),
    [(10, None, "OrderedStaircase"), (11, None, "RestrictedGumbel"), (5, 4, "LimitedDomainGauss")],
)
def test_a_ready_histogram_has_slots_only(k: int, contribution: int | None, wanted: str) -> None:
    assert best_rule(Question(k=k, contribution=contribution), limits=SLOTS).name == wanted


@pytest.mark.parametrize(
    ("k", "ordered", "wanted"),
    [
        (1, True, "Lipschitz"),
        (9, True, "Lipschitz"),
        (200, True, "Lipschitz"),
        (1, False, "Lipschitz"),
        (3, False, "Lipschitz"),
        (4, False, "CanonicalOrPeeling"),
        (200, False, "CanonicalOrPeeling"),
    ],
)
def test_a_public_list(k: int, ordered: bool, wanted: str) -> None:
    """In order it is peeled; a set is drawn at once where a look that is paid for says so."""
    question = Question(k=k, ordered=ordered)
    assert best_rule(question, public_list=True).name == wanted
    assert best_rule(question, budget=RHO, public_list=True).name == wanted


@pytest.mark.parametrize(
    ("more", "budget", "wanted"),
    [
        ({}, None, "RestrictedGumbel"),
        ({}, RHO, "RestrictedGumbel"),
        ({"contribution": 1, "groups_per_user": 3}, None, "Observed"),
        ({"contribution": 1, "groups_per_user": 3, "passes": 1}, None, "LimitedDomainLaplace"),
        ({"contribution": 2, "groups_per_user": 3, "passes": 1}, None, "LimitedDomainGauss"),
    ],
)
def test_groups(more: dict[str, Any], budget: Budget | None, wanted: str) -> None:
    assert best_rule(Question(k=5, by=("region",), **more), budget=budget).name == wanted


def test_every_rule_is_in_the_catalogue_and_can_be_reached() -> None:
    assert auto_mechanism_names() <= {line.name for line in CATALOGUE}
    assert len({rule.name for rule in RULES}) == len(RULES)


KS = (1, 4, 10, 40)
TOTALS = (("0.1", "1e-9"), ("1", "1e-8"), ("4", "1e-6"))
BUDGETS = (None, RHO, PURE)
MORE: tuple[dict[str, Any], ...] = (
    {}, {"ordered": False}, {"passes": 1}, {"contribution": 2}, {"contribution": 7}, {"k_bar": 60},
)  # fmt: skip
Place = tuple[int, int, int, int, bool]


def places() -> list[Place]:
    """Where a question stands in `KS`, `TOTALS`, `BUDGETS` and `MORE`; with a public list there is nothing more."""
    every = itertools.product(range(4), range(3), range(3), range(6), (False, True))
    return [place for place in every if not place[-1] or place[-2] == 0]


def covering() -> set[Place]:
    """36 of those places that hold every pair of two parameters."""
    listed = {(k, (k + more) % 3, (k + 2 * more) % 3, more, False) for k in range(4) for more in range(6)}
    return listed | {(k, (k + budget) % 3, budget, 0, True) for k in range(4) for budget in range(3)}


def grid() -> list[Any]:
    """Questions of every kind that `auto` must answer."""
    kept = covering()
    return [
        pytest.param(
            {"k": KS[k], "epsilon": TOTALS[total][0], "delta": TOTALS[total][1], **MORE[more]},
            BUDGETS[budget],
            public,
            marks=() if (k, total, budget, more, public) in kept else pytest.mark.full,
        )
        for k, total, budget, more, public in places()
    ]


def test_the_gate_holds_every_pair_of_parameters() -> None:
    def pairs(held: Iterable[Place]) -> set[tuple[int, int, int, int]]:
        return {(i, j, one[i], one[j]) for one in held for i in range(5) for j in range(i)}

    assert covering() <= set(places())
    assert pairs(covering()) == pairs(places())


@pytest.mark.long
@pytest.mark.parametrize(("asked", "budget", "public"), grid())
def test_the_promise_is_within_the_total_and_uses_nearly_all_of_it(
    asked: dict[str, Any], budget: Budget | None, public: bool
) -> None:
    made = prepare(Question.from_fields(asked), budget=budget, limits=Limits(public_list=public))  # type: ignore[arg-type] # fields by name
    promise: Any = made.promise
    epsilon, delta = Fraction(asked["epsilon"]), Fraction(asked["delta"])
    assert promise.epsilon <= epsilon
    assert promise.delta <= delta
    assert promise.epsilon >= Fraction(99, 100) * epsilon
    if not (public and asked["k"] == 1):  # one pure step has no use for δ
        assert promise.delta >= Fraction(99, 100) * delta
    assert made.choice.reason.startswith("chosen because")


@pytest.mark.long
@pytest.mark.parametrize(("k", "otherwise"), [(5, " without a noisy query"), (50, "")])
def test_what_the_next_best_would_have_given_is_said_from_parameters_alone(k: int, otherwise: str) -> None:
    made = prepare(Question.from_fields({"k": k, "epsilon": 1, "delta": "1e-8"}))
    runner_up = candidate_rules(Question(k=k))[1]
    assert made.choice.instead.startswith(f"the next best, {runner_up.name}{otherwise}, would have needed a lead ")
    assert (
        prepare(Question.from_fields({"k": k, "epsilon": 1, "delta": "1e-8", "mechanism": "Sieve"})).choice.instead
        == ""
    )


def test_one_pass_is_refused_to_what_needs_several() -> None:
    with pytest.raises(MechanismError, match="reads the table several times"):
        prepare(Question.from_fields({"k": 5, "epsilon": 1, "delta": "1e-8", "passes": 1, "mechanism": "Sieve"}))
    with pytest.raises(ParameterError, match="passes must be 1"):
        Question(k=5, passes=2)
    with pytest.raises(ParameterError, match="ordered must be true or false"):
        Question(k=5, ordered="yes")  # type: ignore[arg-type] # on purpose
