"""Users of a public shape: they have the counts of the shape, and mechanisms that look at pairs can be planned on."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.view_kinds import PAIRS, View
from crestline.mechanisms.catalogue import entry
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.plan.candidates import Candidate, build_candidate
from crestline.plan.count_models import read_shape
from crestline.plan.forecast import Simulation
from crestline.plan.plan import plan_for_shape
from crestline.plan.synthetic_users import MOST_PAIRS, SyntheticUsers
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import replay

COUNTS = np.array([500, 320, 77, 77, 3, 1, 0], dtype=np.int64)


def test_a_crowd_has_the_counts_of_its_shape() -> None:
    crowd = SyntheticUsers(COUNTS, 600)
    pairs: Any = crowd.view_data(PAIRS)
    slots = pairs.slots(6)
    assert list(slots.counts) == [500, 320, 77, 77, 3, 1]
    assert slots.items == (1, 2, 3, 4, 5, 6)
    observed = crowd.view_data(View("observed", (1, 1)))
    assert isinstance(observed, ObservedItems)
    assert [observed.score_of(rank) for rank in range(observed.size)] == [500, 320, 77, 77, 3, 1]


def test_too_large_a_crowd_and_weighted_scores_are_not_made_up() -> None:
    assert SyntheticUsers(np.array([MOST_PAIRS, 1], dtype=np.int64), MOST_PAIRS).view_data(PAIRS) is None
    assert SyntheticUsers(COUNTS, 600).view_data(View("observed", (4, 2))) is None


@pytest.mark.long
def test_a_plan_compares_what_auto_takes() -> None:
    shape = read_shape("power:1", users=3000, items=400)
    question = Question.from_fields({"k": 3, "epsilon": 1, "delta": "1e-6"})
    simulation = Simulation(replay("crowd"), 20)
    made = plan_for_shape(shape, question, simulation, mechanisms=("Routed", "Sieve", "RestrictedGumbel"), users=3000)
    assert made.auto == "Routed"
    assert {row.mechanism for row in made.rows} == {"Routed", "Sieve", "RestrictedGumbel"}
    assert all(row.returned.value > 2 for row in made.rows)


@pytest.mark.parametrize(("name", "bound"), [("Sieve", None), ("Observed", 4)])
def test_in_groups_a_plan_takes_what_a_question_would(name: str, bound: int | None) -> None:
    asked = Question(
        k=3, epsilon=Fraction(1), delta=Fraction(1, 10**6), by=("group",), groups_per_user=3, contribution=bound
    )
    found = build_candidate(entry(name), 3, asked, public_list=False, crowd=SyntheticUsers(COUNTS, 600))
    assert isinstance(found, Candidate)
    whole = (
        entry(name).load().fit(PrivacyTotal(3, 1, "1e-6", contribution=bound), groups=3)
    )  # all groups of a user at once
    assert found.mechanism == prepare(replace(asked, mechanism=name)).mechanism == whole
