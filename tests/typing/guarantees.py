"""Public usage of the accounting that must type-check."""

from fractions import Fraction

from crestline.guarantees.conversion import largest_rho, zcdp_epsilon

epsilon: Fraction = zcdp_epsilon("0.01", 1e-6)
rho: Fraction = largest_rho(1, "1e-6")
