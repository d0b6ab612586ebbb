"""Promise of a release in two stages: the smaller of all steps composed at once and the sum of the two promises."""

from __future__ import annotations

from crestline.guarantees.guarantee import ZCDP, ApproxDP, Guarantee


def tighter_guarantee(together: ApproxDP | ZCDP, first: Guarantee, second: Guarantee) -> Guarantee:
    """The smaller of two valid promises: `together`, for all steps at once, and the sum of those of the two stages.

    `together` must include both stages' failure probabilities. The sum is smaller where one stage is a single pure
    step, or where one stage composes better than the two together.
    """
    if isinstance(together, ZCDP) or first.epsilon is None or second.epsilon is None:
        return together
    epsilon = first.epsilon + second.epsilon
    if epsilon >= together.epsilon:
        return together
    return ApproxDP(epsilon, together.delta, "; ".join(part.theorem for part in (first, second) if part.theorem))
