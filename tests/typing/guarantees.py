"""Public usage of the accounting that must type-check."""

from fractions import Fraction

from crestline.guarantees.accountants import Accountant, AdaptiveOptimum, Basic, per_step_epsilon, total
from crestline.guarantees.conversion import largest_rho, zcdp_epsilon
from crestline.guarantees.cost import steps
from crestline.guarantees.filter import Filter, PureFilter, ZeroConcentratedFilter
from crestline.guarantees.guarantee import ZCDP, ApproxDP, BoundedRange

epsilon: Fraction = zcdp_epsilon("0.01", 1e-6)
rho: Fraction = largest_rho(1, "1e-6")
promise: ApproxDP | ZCDP = total(steps(BoundedRange("0.05"), 100), "1e-6")
size: Fraction = per_step_epsilon(100, 1, "1e-6")

for_fixed_steps: tuple[Accountant, ...] = (Basic(), AdaptiveOptimum())
for_adaptive_parameters: tuple[Filter, ...] = (PureFilter(1), ZeroConcentratedFilter("0.1", 0, "1e-6"))
# Only a filter may guard parameters that are chosen on the way: the checker says so, and fails if that ever changes.
wrong: Filter = AdaptiveOptimum()  # type: ignore[assignment] # an accountant for fixed steps is not a filter
also_wrong: Accountant = PureFilter(1)  # type: ignore[assignment] # a filter is not an accountant for fixed steps
