"""Which mechanism answers a question: decided from the question alone, never from the data (P12.1)."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from crestline.answer.answer import Choice
from crestline.errors import MechanismError
from crestline.mechanisms.catalogue import entry
from crestline.mechanisms.mechanism import Mechanism
from crestline.parameters import Exact, positive, probability, whole

AUTO = "auto"


@dataclass(frozen=True)
class Rule:
    """What `auto` takes when a question looks like this, how many items it should see, and why."""

    name: str
    k_bar_per_k: int
    reason: str


PAY_WHAT_YOU_GET = Rule("LimitedDomain", 5, "chosen because it pays only for the items it draws")


@dataclass(frozen=True)
class Chosen:
    """A mechanism ready to run, and the reason for it."""

    mechanism: Any
    choice: Choice
    k_bar: int


def choose(
    wanted: Any,
    *,
    k: int,
    k_bar: int | None,
    epsilon: Exact | None,
    delta: Exact | None,
    contribution: int | None,
) -> Chosen:
    """The mechanism for a question: `wanted` is `"auto"`, a catalogue name, or a mechanism."""
    if not isinstance(wanted, str):
        return _given(wanted, k, k_bar)
    if epsilon is None or delta is None:
        raise MechanismError("a mechanism chosen by name needs epsilon and delta: the total for this answer")
    rule = _rule(wanted, k, contribution)
    slots = max(whole(k, "k"), k * rule.k_bar_per_k) if k_bar is None else k_bar
    mechanism = (
        entry(rule.name)
        .load()
        .for_budget(
            k=k,
            k_bar=slots,
            epsilon=positive(epsilon, "epsilon"),
            delta=probability(delta, "delta"),
            contribution=contribution,
        )
    )
    return Chosen(mechanism, describe(mechanism, rule.reason), slots)


def _rule(wanted: str, k: int, contribution: int | None) -> Rule:
    if wanted != AUTO:
        return Rule(entry(wanted).name, 5, "named in the question")
    return PAY_WHAT_YOU_GET


def _given(mechanism: Any, k: int, k_bar: int | None) -> Chosen:
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(
            "a mechanism is 'auto', a name of the catalogue, or an object with guarantee() and release()"
        )
    own = getattr(mechanism, "k_bar", None)
    slots = own if own is not None else k_bar
    if slots is None:
        raise MechanismError("say how many items this mechanism may see: k_bar=…")
    if k_bar is not None and k_bar != slots:
        raise MechanismError(f"k_bar={k_bar} does not agree with the mechanism's own k_bar={slots}; leave it out")
    if getattr(mechanism, "k", k) != k:
        raise MechanismError(f"k={k} does not agree with the mechanism's own k={mechanism.k}")  # type: ignore[attr-defined] # it has one
    return Chosen(mechanism, describe(mechanism, "given in the question"), slots)


def describe(mechanism: Any, reason: str) -> Choice:
    """A mechanism's name and exact parameters, as text."""
    parameters: dict[str, str] = {}
    if is_dataclass(mechanism):
        for part in fields(mechanism):
            value = getattr(mechanism, part.name)
            if value is not None and value is not False:
                parameters[part.name] = _text(value)
    return Choice(type(mechanism).__name__, parameters, reason)


def _text(value: Any) -> str:
    return str(value) if not isinstance(value, Fraction) else _shortest(value)


def _shortest(number: Fraction) -> str:
    """A decimal where it is exact, else the fraction: parameters are exact, and so is what is said of them."""
    short = f"{float(number):.12g}"
    return short if Fraction(short) == number else str(number)
