"""Amount: so much of a budget, in the budget's own two units, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm

from crestline.errors import ParameterError
from crestline.exact_numbers import decimal_text
from crestline.label_text import HasShortRepr

# Bits of a numerator or denominator that is charged; far beyond any number a person would write.
_LONGEST = 512
# Bits of a common denominator in the ledger: longer ones make every later question slower.
_LARGEST_SUM = 512
_GRID = 2**256  # any fine grid: charges are rounded up to it
_UNITS = (("rho", "delta"), ("epsilon", "delta"), ("items", "questions"))  # of the kinds of budget
_INVISIBLE = Fraction(1, 10**300)  # what is left can be smaller than any float


@dataclass(frozen=True, repr=False)
class Amount(HasShortRepr):
    """A loss and a probability of failure; `units` names both, such as `("rho", "delta")`.

    Amounts of different units do not add up, and no order between them exists: use `fits_in`.
    """

    units: tuple[str, str]
    loss: Fraction
    failure: Fraction

    def __add__(self, other: Amount) -> Amount:
        self._check_same_units(other)
        return Amount(self.units, self.loss + other.loss, self.failure + other.failure)

    def __sub__(self, other: Amount) -> Amount:
        self._check_same_units(other)
        return Amount(self.units, self.loss - other.loss, self.failure - other.failure)

    def __mul__(self, times: int) -> Amount:
        return Amount(self.units, self.loss * times, self.failure * times)

    def fits_in(self, other: Amount) -> bool:
        """Whether neither part is larger than the other's."""
        self._check_same_units(other)
        return self.loss <= other.loss and self.failure <= other.failure

    @property
    def is_negative(self) -> bool:
        """Whether either part is below zero, which only an error of the ledger can bring about."""
        return self.loss < 0 or self.failure < 0

    def to_json(self) -> dict[str, str]:
        """The number of each unit as exact text, `numerator/denominator`."""
        return {self.units[0]: fraction_text(self.loss), self.units[1]: fraction_text(self.failure)}

    @classmethod
    def from_json(cls, value: Mapping[str, str], units: tuple[str, str]) -> Amount:
        """The amount that `to_json` wrote."""
        return cls(units, read_fraction(value[units[0]]), read_fraction(value[units[1]]))

    @classmethod
    def from_entry(cls, value: Mapping[str, str]) -> Amount:
        """The amount that `to_json` wrote, in the units it names."""
        return cls.from_json(value, units_of(value))

    def __str__(self) -> str:
        return f"{self.units[0]} {short_decimal(self.loss)}, {self.units[1]} {short_decimal(self.failure)}"

    def _check_same_units(self, other: Amount) -> None:
        assert self.units == other.units, "amounts of two kinds of budget were mixed"


def zero_amount(units: tuple[str, str]) -> Amount:
    """An amount of nothing, in these units."""
    return Amount(units, Fraction(0), Fraction(0))


def fraction_text(number: Fraction) -> str:
    """The one spelling of an exact number in the ledger.

    >>> fraction_text(Fraction(2))
    '2/1'
    """
    return f"{number.numerator}/{number.denominator}"


def read_fraction(written: str) -> Fraction:
    """The number that `fraction_text` wrote. Two whole numbers are read several times as fast as any number is."""
    numerator, _, denominator = written.partition("/")
    return Fraction(int(numerator), int(denominator)) if denominator else Fraction(written)


def units_of(value: Mapping[str, str]) -> tuple[str, str]:
    """The units in which `Amount.to_json` wrote an amount."""
    return next(units for units in _UNITS if units[0] in value)


def check_length(amount: Amount) -> Amount:
    """The amount itself, if its numbers are short enough to be kept in a ledger."""
    for part in (amount.loss, amount.failure):
        if max(part.numerator.bit_length(), part.denominator.bit_length()) > _LONGEST:
            raise ParameterError("the privacy parameters have too many digits to be charged: use shorter numbers")
    return amount


def round_up_if_too_long(amount: Amount, total: Amount) -> Amount:
    """The amount, rounded up to a grid of 2^-256 where the exact sum with `total` would be too long to write down.

    Without it, questions with ever new denominators would make the ledger grow without end.
    """
    return Amount(amount.units, _round_up_part(amount.loss, total.loss), _round_up_part(amount.failure, total.failure))


def short_decimal(number: Fraction) -> str:
    """A number of an amount as a short decimal for people, rounded up."""
    return decimal_text(number) if number == 0 or abs(number) >= _INVISIBLE else "under 1e-300"


def _round_up_part(part: Fraction, total: Fraction) -> Fraction:
    if lcm(part.denominator, total.denominator).bit_length() <= _LARGEST_SUM:
        return part
    return Fraction(ceil(part * _GRID), _GRID)
