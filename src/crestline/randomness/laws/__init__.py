"""Noise laws: a quantile in doubles, for speed, and the same in balls, for certainty."""

from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.gaussian import GAUSSIAN
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.laws.half_logistic import HALF_LOGISTIC
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.laws.law import Law
from crestline.randomness.laws.logistic import LOGISTIC

LAWS: dict[str, Law] = {law.name: law for law in (GUMBEL, EXPONENTIAL, LAPLACE, LOGISTIC, HALF_LOGISTIC, GAUSSIAN)}

__all__ = ["EXPONENTIAL", "GAUSSIAN", "GUMBEL", "HALF_LOGISTIC", "LAPLACE", "LAWS", "LOGISTIC", "Law"]
