"""Prices as JSON values and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from crestline.answer.answer import Choice
from crestline.answer.encoding import decode_guarantee, encode_guarantee
from crestline.errors import ParameterError
from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import fraction_of
from crestline.price.price import Charge, Price

_PLAIN = ("margin", "spread", "threshold", "unit", "stored", "coverage_spread", "counts")


def encode_price(price: Price) -> dict[str, Any]:
    """JSON values of a price."""
    return {
        "text": str(price),
        "fits": price.fits,
        **{name: getattr(price, name) for name in _PLAIN},
        "warnings": list(price.warnings),
        "mechanism": {**asdict(price.mechanism), "parameters": dict(price.mechanism.parameters)},
        "guarantee": encode_guarantee(price.guarantee),
        "charges": [_encode_charge(charge) for charge in price.charges],
    }


def decode_price(value: Mapping[str, Any]) -> Price:
    """Price from the values of `encode_price`.

    Raises:
        ParameterError: The values are not those of a price.
    """
    try:
        return Price(
            tuple(map(_decode_charge, value["charges"])),
            Choice(**value["mechanism"]),
            decode_guarantee(value["guarantee"]),
            warnings=tuple(value["warnings"]),
            **{name: value[name] for name in _PLAIN},
        )
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration):
        raise ParameterError("this is not a price written by crestline (or by a newer version of it)") from None


def _encode_charge(charge: Charge) -> dict[str, Any]:
    return {
        "account": charge.account,
        "share": fraction_of(charge.most, charge.budget.limit),
        "left": max(0.0, 1 - fraction_of(charge.budget.limit - charge.remaining, charge.budget.limit)),
        "fits": charge.fits,
        "most": charge.most.to_json(),
        "least": charge.least.to_json(),
        "remaining": charge.remaining.to_json(),
        "budget": charge.budget.to_json(),
        "window": charge.window,
    }


def _decode_charge(value: Mapping[str, Any]) -> Charge:
    most, least, remaining = (Amount.from_entry(value[name]) for name in ("most", "least", "remaining"))
    return Charge(value["account"], most, least, remaining, Budget.from_json(value["budget"]), value["window"])
