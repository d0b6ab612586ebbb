"""Plans: from a shape to lines, notes and a picture."""

from __future__ import annotations

import json

import pytest
from tests.plan.made import QUESTION, line

from crestline.errors import MechanismError, ParameterError
from crestline.plan.count_models import PowerLaw
from crestline.plan.forecast import Simulation
from crestline.plan.plan import Plan, plan_for_shape
from crestline.plan.plot import plot
from crestline.question import Question
from crestline.randomness.entropy import replay

ONE = ("LimitedDomain",)


def asked(k: int, delta: str, *, k_bar: int | None = None, contribution: int | None = None) -> Question:
    return Question.from_fields({"k": k, "epsilon": 1, "delta": delta, "k_bar": k_bar, "contribution": contribution})


def test_a_plan_from_a_shape() -> None:
    plan = plan_for_shape(
        PowerLaw(1.0, 20_000, 5_000),
        asked(5, "1e-6"),
        Simulation(replay("p"), 50),
        mechanisms=ONE,
        users=20_000,
    )
    assert plan.rows
    assert plan.advice.count(".") >= 1
    assert plan.notes == ()
    values = json.loads(json.dumps(plan.to_dict()))
    assert values["epsilon"] == "1"
    assert values["mechanisms"][0]["mechanism"] == plan.rows[0].mechanism


def test_a_delta_that_is_not_small_is_noted() -> None:
    plan = plan_for_shape(
        PowerLaw(1.0, 2_000, 500),
        asked(2, "1e-3", k_bar=2),
        Simulation(replay("d"), 2),
        mechanisms=ONE,
        users=2_000,
    )
    assert plan.notes == ("delta is not small against one in 2,000 users: choose 1e-05 or less.",)


def test_a_bound_on_contributions_cuts_the_counts() -> None:
    shape = PowerLaw(1.0, 2_000, 5_000, per_user=20)

    def planned(contribution: int | None) -> Plan:
        question = asked(5, "1e-6", contribution=contribution, k_bar=25)
        return plan_for_shape(shape, question, Simulation(replay("c"), 50), mechanisms=ONE, users=2_000)

    free, bound = planned(None), planned(2)
    assert bound.to_dict()["contribution"] == 2
    assert bound.rows[0].returned.value < free.rows[0].returned.value - 0.5


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="k_bar must be at least k"):
        asked(5, "1e-6", k_bar=2)
    with pytest.raises(MechanismError, match="there is no mechanism 'Magic'"):
        plan_for_shape(
            PowerLaw(1.0, 200, 50),
            asked(5, "1e-6"),
            Simulation(replay("m")),
            mechanisms=["Magic"],
            users=200,
        )
    with pytest.raises(ParameterError, match="delta must be larger than zero"):
        asked(5, "0")


def test_the_picture_shows_every_line() -> None:
    plan = Plan(QUESTION, (line("A", 9.1, 0.95), line("B", 5.0, 0.6)), (), "A")
    svg = plot(plan).svg()
    for words in ("A, k_bar 50", "B, k_bar 50", "95.0%", "60.0%", "Top 10 at ε = 1, δ = 1e-06"):
        assert words in svg


def test_a_public_list_of_items_lets_other_mechanisms_in() -> None:
    question, both = asked(3, "1e-6", k_bar=6), ("LimitedDomain", "Lipschitz")
    shape = PowerLaw(1.0, 2_000, 500)
    known = plan_for_shape(
        shape, question, Simulation(replay("k"), 20), mechanisms=both, users=2_000, public_items=True
    )
    hidden = plan_for_shape(shape, question, Simulation(replay("k"), 20), mechanisms=both, users=2_000)
    (lipschitz,) = [row for row in known.rows if row.mechanism == "Lipschitz"]
    assert lipschitz.k_bar is None
    assert lipschitz.returned.value == 3  # it never stops
    assert 0.3 < lipschitz.ratio.value <= 1
    assert "Lipschitz" in {line.mechanism for line in hidden.skipped}
