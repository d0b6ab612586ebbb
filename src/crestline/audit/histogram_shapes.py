"""Shapes of the histograms that a mechanism is attacked on: cut at `k_bar` and padded, or over a public list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.audit.neighbours import HistogramShape, labels
from crestline.errors import ParameterError
from crestline.exact_numbers import whole_number
from crestline.mechanisms.third_party import domain_of

_LISTED = 4


@dataclass(frozen=True)
class ShapeChoice:
    """Shapes to try, the likeliest first, and a `note` if they were guessed."""

    shapes: Sequence[HistogramShape]
    note: str = ""


def choose(mechanism: object, *, k: int, delta: float, k_bar: int | None, domain: str | None) -> ShapeChoice:
    """Shapes that the caller requests, or else those that the mechanism or the catalogue states, or else a guess.

    Raises:
        ParameterError: `domain` or `k_bar` is not valid.
    """
    if domain not in (None, "known", "unknown"):
        raise ParameterError(f"domain must be known or unknown, not {domain!r}")
    slots = (
        whole_number(k_bar, "k_bar")
        if k_bar is not None
        else stated_number(mechanism, "k_bar") or stated_number(mechanism, "k_bar_max")
    )
    wanted = domain or domain_of(mechanism) or ("unknown" if slots else None)
    if wanted == "known":
        return ShapeChoice([_public_list_shape(k)])
    if wanted == "unknown":
        return ShapeChoice([HistogramShape(slots)] if slots else _unknown_domain_shapes(k))
    if delta:
        return ShapeChoice(_unknown_domain_shapes(k), "it states no k_bar; histograms of a few slots were tried")
    # Without δ no item of an unknown domain can be named, so the promise must assume a public list.
    note = "it states no k_bar and its promise has no δ: a public list was assumed (--domain unknown says otherwise)"
    return ShapeChoice([_public_list_shape(k)], note)


def stated_number(mechanism: object, name: str) -> int | None:
    """The attribute `name` of the mechanism if it is a positive integer, otherwise None."""
    value = getattr(mechanism, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _public_list_shape(k: int) -> HistogramShape:
    return HistogramShape(None, tuple(labels(max(_LISTED, k + 2))))


def _unknown_domain_shapes(k: int) -> list[HistogramShape]:
    return [HistogramShape(slots) for slots in sorted({max(k, 3), k}, reverse=True)]
