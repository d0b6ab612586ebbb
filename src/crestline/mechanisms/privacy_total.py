"""Total (ε, δ) that a mechanism is fitted to: the exact arguments of `for_budget`, and their division."""

from __future__ import annotations

from fractions import Fraction
from typing import NotRequired, Self, TypedDict

from crestline.exact_fields import Number, Whole, WholeOrNone, field, value
from crestline.exact_numbers import Exact, positive_number, probability, proportion, whole_number
from crestline.mechanisms.slot_checks import check_contribution, check_k_bar_not_below_k, check_k_bar_or_none


class TotalArguments(TypedDict):
    """Arguments of every `for_budget`: the fields of `PrivacyTotal`, before they are made exact."""

    k: int
    epsilon: Exact
    delta: Exact
    k_bar: NotRequired[int | None]
    contribution: NotRequired[int | None]


@value
class PrivacyTotal:
    """Total (ε, δ) of a release of k items; `k_bar` and `contribution` are None if not given."""

    k: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    delta: Number = field(proportion)
    k_bar: WholeOrNone = field(check_k_bar_or_none, default=None, kw_only=True)
    contribution: WholeOrNone = field(check_contribution, default=None, kw_only=True)

    @classmethod
    def from_arguments(cls, kind: type, arguments: TotalArguments) -> Self:
        """The total for `kind.for_budget`; a misspelt or missing argument is reported as that method's."""
        try:
            return cls(**arguments)
        except TypeError as error:
            raise TypeError(str(error).replace("Total.__init__", f"{kind.__name__}.for_budget")) from None

    def slots(self, each: int) -> int:
        """Number of slots to see: `k_bar` if given, else `each` for every item wanted."""
        return each * self.k if self.k_bar is None else check_k_bar_not_below_k(self.k, self.k_bar)

    def split_delta(self, failure: Fraction = Fraction(1)) -> tuple[Fraction, Fraction]:
        """δ_failure, the share of δ for failures of the mechanism, and δ_slack, the rest, for the accountant."""
        delta_failure = probability(self.delta, "delta") * failure
        return delta_failure, self.delta - delta_failure
