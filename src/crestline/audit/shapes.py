"""Which histograms a mechanism is attacked on: cut at `k_bar` and padded, or over a public list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.audit.neighbours import Shape, labels
from crestline.errors import ParameterError
from crestline.mechanisms.adopt import domain_of
from crestline.parameters import whole

_LISTED = 4


@dataclass(frozen=True)
class Choice:
    """Shapes to try, best guess first; `note` says what was guessed."""

    shapes: Sequence[Shape]
    note: str = ""


def choose(mechanism: object, *, k: int, delta: float, k_bar: int | None, domain: str | None) -> Choice:
    """What was asked for; else what the mechanism or the catalogue says; else a guess."""
    if domain not in (None, "known", "unknown"):
        raise ParameterError(f"domain must be known or unknown, not {domain!r}")
    slots = whole(k_bar, "k_bar") if k_bar is not None else number(mechanism, "k_bar") or number(mechanism, "k_bar_max")
    wanted = domain or domain_of(mechanism) or ("unknown" if slots else None)
    if wanted == "known":
        return Choice([_public_list(k)])
    if wanted == "unknown":
        return Choice([Shape(slots)] if slots else _unknown(k))
    if delta:
        return Choice(_unknown(k), "it states no k_bar; histograms of a few slots were tried")
    # Without δ nothing can be named from an unknown domain: the promise must be meant for a public list.
    note = "it states no k_bar and its promise has no δ: a public list was assumed (--domain unknown says otherwise)"
    return Choice([_public_list(k)], note)


def number(mechanism: object, name: str) -> int | None:
    """A positive whole number that the mechanism states about itself."""
    value = getattr(mechanism, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _public_list(k: int) -> Shape:
    return Shape(None, tuple(labels(max(_LISTED, k + 2))))


def _unknown(k: int) -> list[Shape]:
    return [Shape(slots) for slots in sorted({max(k, 3), k}, reverse=True)]
