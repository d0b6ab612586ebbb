"""Lines of a plan for the tests of this folder."""

from __future__ import annotations

from fractions import Fraction

from crestline.plan.forecast import Estimate, Forecast
from crestline.question import Question

QUESTION = Question(k=10, epsilon=Fraction(1), delta=Fraction(1, 10**6))


def line(name: str, returned: float, ratio: float, error: float = 0.01) -> Forecast:
    return Forecast(
        name, 50, {}, "ordered", "fixed", "", 40.0, 70.0, Estimate(returned), Estimate(ratio, error, simulated=True)
    )
