"""A total (ε, δ) that a mechanism is made to fit: what `for_budget` was given, exact, and how it is divided."""

from __future__ import annotations

from fractions import Fraction
from typing import NotRequired, Self, TypedDict

from crestline.fields import Number, Whole, WholeOrNone, field, value
from crestline.mechanisms.slots import at_least_k, contribution_bound, slot_number_or_none
from crestline.parameters import Exact, positive, probability, proportion, whole


class TotalArguments(TypedDict):
    """What every `for_budget` takes: the fields of `Total`, before they are made exact."""

    k: int
    epsilon: Exact
    delta: Exact
    k_bar: NotRequired[int | None]
    contribution: NotRequired[int | None]


@value
class Total:
    """A release of k items may cost (ε, δ) in all; `k_bar` and `contribution` are None where nothing was said."""

    k: Whole = field(whole)
    epsilon: Number = field(positive)
    delta: Number = field(proportion)
    k_bar: WholeOrNone = field(slot_number_or_none, default=None, kw_only=True)
    contribution: WholeOrNone = field(contribution_bound, default=None, kw_only=True)

    @classmethod
    def of(cls, kind: type, arguments: TotalArguments) -> Self:
        """The total that `kind.for_budget` was asked for; misspelt and missing arguments are reported as its own."""
        try:
            return cls(**arguments)
        except TypeError as error:
            raise TypeError(str(error).replace("Total.__init__", f"{kind.__name__}.for_budget")) from None

    def slots(self, each: int) -> int:
        """How many slots to look at: as many as was said, else `each` for every item wanted."""
        return each * self.k if self.k_bar is None else at_least_k(self.k, self.k_bar)

    def split_delta(self, failure: Fraction = Fraction(1)) -> tuple[Fraction, Fraction]:
        """δ_failure, the share of δ for the failures of the mechanism, and δ_slack, what is left for the accountant."""
        delta_failure = probability(self.delta, "delta") * failure
        return delta_failure, self.delta - delta_failure
