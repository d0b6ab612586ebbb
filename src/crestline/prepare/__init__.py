"""From a question to the mechanism that answers it: the rules of `auto`, the checks, and the accounting."""

from crestline.prepare.auto_rules import best_rule
from crestline.prepare.build_mechanism import total_of_question
from crestline.prepare.prepare import describe_choice, prepare
from crestline.prepare.prepared import Prepared, period_charge_of

__all__ = ["Prepared", "best_rule", "describe_choice", "period_charge_of", "prepare", "total_of_question"]
