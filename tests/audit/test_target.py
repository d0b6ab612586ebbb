"""What is attacked, and on which histograms."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import crestline as cl
from crestline.audit.neighbours import HistogramShape
from crestline.audit.target import StatedOverrides, prepare_subject
from crestline.errors import HistogramError, MechanismError, ParameterError
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.third_party import release_many_or_none
from crestline.randomness.entropy import replay

MADE = cl.mechanisms.LimitedDomain(2, 3, 1, "0.1")


class Plain:
    """The least that can be audited."""

    def __init__(self, promise: Any = None, **stated: Any) -> None:
        self.promise = promise or cl.ApproxDP(1, "0.1")
        vars(self).update(stated)

    def guarantee(self) -> Any:
        return self.promise

    def release(self, histogram: Any, entropy: Any) -> Any:
        return Selection(tuple(histogram.items[:1]), False)


def shapes(mechanism: Any, **options: Any) -> tuple[HistogramShape, ...]:
    return prepare_subject(mechanism, replay("shapes"), stated=StatedOverrides(**options)).shapes


def test_the_histogram_is_what_the_mechanism_says() -> None:
    assert shapes(MADE) == (HistogramShape(3),)
    assert shapes(Plain(k_bar=7)) == (HistogramShape(7),)
    assert shapes(Plain(k_bar_max=5)) == (HistogramShape(5),)
    assert shapes(Plain(domain="known"))[0].k_bar is None
    assert shapes(Plain(domain="known", k=4))[0].domain == tuple("abcdef")


def test_the_call_may_say_otherwise() -> None:
    assert shapes(Plain(k_bar=7), k_bar=2) == (HistogramShape(2),)
    assert shapes(Plain(k_bar=7), domain="known")[0].k_bar is None
    assert shapes(Plain(domain="known"), domain="unknown") == (HistogramShape(3), HistogramShape(1))
    with pytest.raises(ParameterError, match="known or unknown"):
        shapes(Plain(), domain="public")


def test_a_bound_on_users_is_taken_from_the_mechanism_or_from_the_call() -> None:
    stated = Plain(k_bar=3, contribution=2)
    assert prepare_subject(stated, replay("bound")).contribution == 2
    assert prepare_subject(stated, replay("bound"), stated=StatedOverrides(contribution=1)).contribution == 1
    assert prepare_subject(stated, replay("bound"), stated=StatedOverrides(contribution=0)).contribution is None
    assert prepare_subject(Plain(k_bar=3), replay("bound")).contribution is None


def test_without_a_word_it_is_guessed_and_said() -> None:
    guessed = prepare_subject(Plain(k=2), replay("guess"))
    assert guessed.shapes == (HistogramShape(3), HistogramShape(2))
    assert "k_bar" in guessed.notes[0]
    pure = prepare_subject(Plain(cl.PureDP(1)), replay("guess"))
    assert pure.shapes[0].k_bar is None
    assert "public list" in pure.notes[0]


def test_a_mechanism_that_never_works_cannot_be_audited() -> None:
    class Refusing(Plain):
        def release(self, histogram: Any, entropy: Any) -> Any:
            raise HistogramError("not this kind")

    with pytest.raises(MechanismError, match="not this kind; try --k-bar or --domain"):
        prepare_subject(Refusing(), replay("refused"))
    with pytest.raises(MechanismError, match="needs guarantee"):
        prepare_subject(SimpleNamespace(), replay("nothing"))

    class Silent(Plain):
        def guarantee(self) -> Any:
            raise RuntimeError("no promise today")

    with pytest.raises(MechanismError, match="no promise today"):
        prepare_subject(Silent(), replay("silent"))


def test_what_people_run_is_what_is_sampled() -> None:
    class Redefined(cl.mechanisms.LimitedDomain):  # type: ignore[misc] # the catalogue's classes are loaded by name
        def release(self, histogram: Any, entropy: Any) -> Any:
            return Selection(("mine",), False)

    assert release_many_or_none(MADE) is not None
    assert release_many_or_none(Plain()) is None
    redefined = Redefined(2, 3, 1, "0.1")
    assert release_many_or_none(redefined) is None
    drawn = prepare_subject(redefined, replay("mine")).sample({"a": 1}, HistogramShape(3), 5)
    assert {outcome.names for outcome in drawn} == {("mine",)}


def test_an_error_is_counted_as_an_outcome() -> None:
    class Moody(Plain):
        def release(self, histogram: Any, entropy: Any) -> Any:
            if not histogram.counts[0]:
                raise ZeroDivisionError
            return Selection((), True)

    tested = prepare_subject(Moody(k_bar=2), replay("moody"))
    assert [str(outcome) for outcome in tested.sample({}, HistogramShape(2), 3)] == ["('raises', 'ZeroDivisionError')"]
    assert tested.sample({"a": 1}, HistogramShape(2), 3).total() == 3
