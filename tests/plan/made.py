"""Lines of a plan for the tests of this folder."""

from __future__ import annotations

from fractions import Fraction

from crestline.plan.candidates import Wish
from crestline.plan.forecast import Estimate, Forecast

WISH = Wish(10, Fraction(1), Fraction(1, 10**6))


def line(name: str, returned: float, ratio: float, error: float = 0.01) -> Forecast:
    return Forecast(
        name, 50, {}, "ordered", "fixed", "", 40.0, 70.0, Estimate(returned), Estimate(ratio, error, simulated=True)
    )
