"""Public usage of the accounting that must type-check."""

from fractions import Fraction

from crestline.guarantees.accountants import (
    Accountant,
    AdaptiveOptimum,
    Basic,
    Renyi,
    ZeroConcentrated,
    per_step_epsilon,
    total,
)
from crestline.guarantees.conversion import largest_rho, zcdp_epsilon
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import ZCDP, ApproxDP, BoundedRange
from crestline.ledger.budget_rules import BudgetRule, PureRule, ZcdpRule

epsilon: Fraction = zcdp_epsilon("0.01", 1e-6)
rho: Fraction = largest_rho(1, "1e-6")
promise: ApproxDP | ZCDP = total(repeat_step(BoundedRange("0.05"), 100), "1e-6")
size: Fraction = per_step_epsilon(100, 1, "1e-6")

for_fixed_steps: tuple[Accountant, ...] = (Basic(), ZeroConcentrated(), Renyi(), AdaptiveOptimum())
for_adaptive_parameters: tuple[BudgetRule, ...] = (PureRule(size, rho), ZcdpRule(rho, rho, rho))
# Only the sums of a ledger may guard parameters that are chosen on the way; the checker fails if that ever changes.
wrong: BudgetRule = AdaptiveOptimum()  # type: ignore[assignment] # an accountant for fixed steps is no kind of budget
also_wrong: Accountant = PureRule(size, rho)  # type: ignore[assignment] # and a kind of budget is no accountant
