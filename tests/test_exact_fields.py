"""Fields convert what they are given, once, and values stay values."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from fractions import Fraction

import pytest

from crestline.errors import ParameterError
from crestline.exact_fields import ConvertedField, Flag, Number, Whole, field, none_or, to_bool, value
from crestline.exact_numbers import (
    Exact,
    non_negative_number,
    positive_number,
    probability,
    set_frozen_fields,
    whole_number,
)


@value
class Example:
    k: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    share: ConvertedField[Exact | None, Fraction] = field(none_or(probability), default=None)
    strict: Flag = field(to_bool, default=False)
    name: str = "plain"
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.share is None:
            set_frozen_fields(self, share=Fraction(1, 2 + self.k))


def test_loose_input_becomes_exact() -> None:
    made = Example(2, "0.1", 0.25, 1, slack="1e-6")  # type: ignore[arg-type] # one is taken for True
    assert (made.k, made.epsilon, made.share) == (2, Fraction(1, 10), Fraction(1, 4))
    assert (made.strict, made.slack) == (True, Fraction(1, 10**6))
    assert isinstance(Example(2, 1).slack, Fraction)  # defaults are converted too


def test_what_depends_on_other_fields_is_filled_in_later() -> None:
    assert Example(2, 1).share == Fraction(1, 4)
    with pytest.raises(ParameterError, match="share must be smaller than one"):
        Example(2, 1, 1)


def test_errors_name_the_field() -> None:
    with pytest.raises(ParameterError, match="epsilon must be larger than zero"):
        Example(2, 0)
    with pytest.raises(ParameterError, match="k must be a whole number"):
        Example("two", 1)  # type: ignore[arg-type] # that is the test
    with pytest.raises(TypeError, match="nonsense"):
        Example(2, 1, nonsense=3)  # type: ignore[call-arg] # that is the test
    with pytest.raises(TypeError, match="epsilon"):
        Example(2)  # type: ignore[call-arg] # that is the test


def test_values_stay_values() -> None:
    made = Example(2, "0.1")
    assert made == Example(2, 0.1) != Example(2, "0.2")
    assert hash(made) == hash(Example(2, "1/10"))
    assert replace(made, epsilon="0.2") == Example(2, "0.2", made.share)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert [one.name for one in fields(made)] == ["k", "epsilon", "share", "strict", "name", "slack"]
    assert repr(made).startswith("Example(k=2, epsilon=Fraction(1, 10), share=Fraction(1, 4), strict=False")
    with pytest.raises(FrozenInstanceError):
        made.k = 3  # type: ignore[misc] # frozen: that is the test


def test_a_class_beneath_converts_too_however_it_is_made() -> None:
    @dataclass(frozen=True)
    class Plain(Example):
        pass

    @value
    class More(Example):
        extra: Number = field(positive_number, default=1, kw_only=True)

    assert Plain(2, "0.1").epsilon == More(2, "0.1").epsilon == Fraction(1, 10)
    assert More(2, 1, extra="0.5").extra == Fraction(1, 2)
