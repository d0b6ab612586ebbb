"""temporary"""

from __future__ import annotations

from fractions import Fraction

from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import ZCDP, ApproxDP, Guarantee


def total(cost: Cost, slack: Fraction, theorem: str = "") -> Guarantee:
    if not slack:
        if cost.epsilon is None:
            return ZCDP(cost.rho, cost.delta, theorem)
        return ApproxDP(cost.epsilon, cost.delta, theorem)
    options = [zcdp_epsilon(cost.rho, slack)]
    if cost.epsilon is not None:
        options.append(cost.epsilon)
    return ApproxDP(min(options), cost.delta + slack, theorem)
