"""Every kind of step is registered with every calculation that tells kinds apart; a forgotten one is an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import pytest

from crestline.audit.claims import claim
from crestline.errors import MechanismError
from crestline.guarantees.accountants import AdaptiveOptimum, Renyi, curve_of
from crestline.guarantees.cost import Cost, RepeatedStep, Step
from crestline.guarantees.guarantee import ApproxDP, PureDP
from crestline.guarantees.optimum.registry import adaptive_step, has_worst_case, worst_pair
from crestline.mechanisms.third_party import cost_of

KINDS = get_args(Step)
WITH_WORST_CASE = [kind for kind in KINDS if kind.__name__ not in ("ZCDP", "WorstOfSteps")]
CALCULATIONS: list[tuple[Any, list[type]]] = [
    (curve_of, [*KINDS]),
    (has_worst_case, [*KINDS]),
    (adaptive_step, WITH_WORST_CASE),
    (worst_pair, WITH_WORST_CASE),
    (cost_of, [*KINDS, ApproxDP]),
    (claim, [*KINDS, ApproxDP]),
]


@pytest.mark.parametrize(("calculation", "kinds"), CALCULATIONS, ids=lambda part: getattr(part, "__name__", ""))
def test_every_kind_is_registered(calculation: Any, kinds: list[type]) -> None:
    assert set(calculation.registry) == {object, *kinds}


@dataclass(frozen=True)
class Forgotten:
    """A kind of step that is not registered."""

    epsilon: Fraction = Fraction(1)
    rho: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    theorem: str = ""


DELTA = Fraction(1, 10**6)
COST = Cost((RepeatedStep(PureDP(1)), RepeatedStep(Forgotten())))  # type: ignore[arg-type] # that is the test


@pytest.mark.parametrize(
    "compute",
    [
        lambda: Renyi().epsilon(COST, DELTA),
        lambda: AdaptiveOptimum().epsilon(COST, DELTA),
        lambda: adaptive_step(Forgotten(), None),  # type: ignore[arg-type] # refused before it is looked at
        lambda: worst_pair(Forgotten(), None, 1),  # type: ignore[arg-type] # as above
    ],
)
def test_a_forgotten_kind_is_an_error(compute: Callable[[], object]) -> None:
    with pytest.raises(MechanismError, match="does not know what to do with Forgotten"):
        compute()


def test_a_forgotten_kind_of_promise_is_an_error() -> None:
    with pytest.raises(MechanismError, match=r"must be a cl\.PureDP"):
        cost_of(Forgotten())


def test_the_auditor_believes_an_epsilon_of_others_and_refuses_a_kind_of_ours_that_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert claim(Forgotten()).claimed_parameter == 1.0
    monkeypatch.setattr(Forgotten, "__module__", "crestline.guarantees.guarantee")
    with pytest.raises(MechanismError, match="not Forgotten"):
        claim(Forgotten())
