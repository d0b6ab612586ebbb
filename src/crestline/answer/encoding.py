"""Answers as JSON values and back: the format of pipes, files and the ledger."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from crestline.answer.answer import Answer, Bill, Choice
from crestline.answer.group_answers import GroupItems
from crestline.errors import ParameterError
from crestline.exact_numbers import EXACT, Json, decimal_and_exact_fields
from crestline.guarantees import guarantee as promises
from crestline.guarantees.guarantee import Guarantee
from crestline.histogram.coverage_counts import CoverageCounts
from crestline.histogram.label_order import Label
from crestline.histogram.route import Route
from crestline.label_text import json_text
from crestline.question import Question

FORMAT = 2  # 1: counts as text, ε and δ as exact text only


def to_dict(answer: Answer) -> dict[str, Any]:
    """JSON values of an answer."""
    return {
        "format": FORMAT,
        "items": [encode_label(item) for item in answer.listed_items],
        "ordered": isinstance(answer.items, tuple),
        "counts": None if answer.counts is None else [encode_count(count) for count in answer.counts],
        "intervals": _encode_pairs(answer.intervals),
        "rank_intervals": _encode_pairs(answer.rank_intervals),
        "count_unit": None if answer.counts is None else answer.count_unit,
        "stopped": answer.stopped,
        "guarantee": encode_guarantee(answer.guarantee),
        "question": answer.question.to_json(),
        "source": answer.source,
        "mechanism": {**asdict(answer.mechanism), "parameters": dict(answer.mechanism.parameters)},
        "margin": answer.margin,
        "spread": answer.spread,
        "route": None if answer.route is None else asdict(answer.route),
        "bill": None if answer.bill is None else asdict(answer.bill),
        "stored": answer.stored,
        "replayed": answer.replayed,
        "notes": list(answer.notes),
        **({} if answer.title is None else {"title": answer.title}),
        **({} if answer.coverage is None else {"coverage": _encode_coverage(answer.coverage)}),
        **({} if answer.by_group is None else {"groups": [_encode_group(group) for group in answer.by_group]}),
    }


def to_json(answer: Answer, path: str | os.PathLike[str] | None) -> str:
    """`to_dict` as text, which is also written to `path` if there is one."""
    text = json_text(to_dict(answer), indent=2) + "\n"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def from_dict(value: Mapping[str, Any]) -> Answer:
    """Answer from the values of `to_dict`.

    Raises:
        ParameterError: The values are not those of an answer, or a newer version wrote them.
    """
    try:
        items = tuple(decode_label(item) for item in value["items"])
        counts = value["counts"]
        return Answer(
            items=items if value["ordered"] else frozenset(items),
            counts=None if counts is None else tuple(Fraction(count) for count in counts),
            intervals=_decode_pairs(value.get("intervals")),
            rank_intervals=_decode_pairs(value.get("rank_intervals")),
            stopped=value["stopped"],
            guarantee=decode_guarantee(value["guarantee"]),
            question=Question.from_json(value["question"]),
            source=value["source"],
            mechanism=Choice(**value["mechanism"]),
            margin=value["margin"],
            spread=value.get("spread"),
            route=None if value.get("route") is None else Route(**value["route"]),
            bill=None if value["bill"] is None else Bill(**value["bill"]),
            stored=value["stored"],
            replayed=value["replayed"],
            notes=tuple(value["notes"]),
            title=value.get("title"),
            coverage=_decode_coverage(value["coverage"]) if value.get("coverage") else None,
            by_group=tuple(map(_decode_group, value["groups"])) if "groups" in value else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ParameterError("this is not an answer written by crestline (or by a newer version of it)") from None


def _encode_coverage(coverage: CoverageCounts) -> dict[str, Any]:
    """JSON values of both numbers of users, and of the share that follows from them."""
    return {
        "users": coverage.users,
        "all_users": coverage.all_users,
        "share": coverage.share,
        "spread": coverage.spread,
        "share_spread": coverage.share_spread,
    }


def _decode_coverage(value: Mapping[str, Any]) -> CoverageCounts:
    return CoverageCounts(value["users"], value["all_users"] - value["users"], value["spread"])


def _encode_group(group: GroupItems) -> dict[str, Any]:
    return {
        "group": encode_label(group.label),
        "items": [encode_label(item) for item in group.listed_items],
        "ordered": isinstance(group.items, tuple),
        "counts": None if group.counts is None else [encode_count(count) for count in group.counts],
        "intervals": _encode_pairs(group.intervals),
        "rank_intervals": _encode_pairs(group.rank_intervals),
        "stopped": group.stopped,
    }


def _decode_group(value: Mapping[str, Any]) -> GroupItems:
    items, counts = tuple(decode_label(item) for item in value["items"]), value["counts"]
    return GroupItems(
        label=decode_label(value["group"]),
        items=items if value["ordered"] else frozenset(items),
        stopped=value["stopped"],
        counts=None if counts is None else tuple(Fraction(count) for count in counts),
        intervals=_decode_pairs(value.get("intervals")),
        rank_intervals=_decode_pairs(value.get("rank_intervals")),
    )


def _encode_pairs(value: Sequence[tuple[Any, Any]] | None) -> list[list[Any]] | None:
    """JSON values of intervals."""
    return None if value is None else [list(pair) for pair in value]


def _decode_pairs(value: Sequence[Sequence[Any]] | None) -> tuple[tuple[Any, Any], ...] | None:
    """Intervals from their JSON values; None where an earlier version wrote none."""
    return None if value is None else tuple((low, high) for low, high in value)


def encode_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """JSON values of a guarantee: its kind, its numbers as decimals and exactly, its theorem and adjacency."""
    numbers: dict[str, Any] = {}
    for part in fields(guarantee):  # type: ignore[arg-type] # every guarantee is a frozen dataclass
        number = getattr(guarantee, part.name)
        if isinstance(number, Fraction):
            numbers |= decimal_and_exact_fields(part.name, number)
    return {
        "kind": type(guarantee).__name__,
        **numbers,
        "theorem": guarantee.theorem,
        "adjacency": guarantee.adjacency.value,
        "text": str(guarantee),
    }


def decode_guarantee(value: Mapping[str, Any]) -> Guarantee:
    """Guarantee from the values of `encode_guarantee`."""
    kind = {cls.__name__: cls for cls in _KINDS}[value["kind"]]
    names = [name for name in value if name not in _WORDS and not name.endswith(EXACT)]
    numbers = {name: Fraction(value.get(name + EXACT, value[name])) for name in names}
    promise: Guarantee = kind(**numbers, theorem=value["theorem"], adjacency=promises.Adjacency(value["adjacency"]))
    return promise


_WORDS = ("kind", "theorem", "adjacency", "text")
_KINDS: tuple[Any, ...] = (
    promises.PureDP,
    promises.ApproxDP,
    promises.BoundedRange,
    promises.LossInterval,
    promises.ZCDP,
    promises.GaussianDP,
)


def encode_count(count: Fraction) -> int | str:
    """An integer, or exact text for a count on a finer grid."""
    return int(count) if count.denominator == 1 else str(count)


def encode_label(label: Label) -> Json:
    """JSON value of a label; a value that is no text, integer or truth value is tagged with its type."""
    if isinstance(label, str | bool | int):
        return label
    if isinstance(label, tuple):
        return [encode_label(part) for part in label]
    for kind, encode, _ in _TAGGED:
        if isinstance(label, kind):
            return {kind.__name__: encode(label)}
    return {"text": str(label)}


def decode_label(value: Json) -> Label:
    """Label from the value of `encode_label`."""
    if isinstance(value, list):
        return tuple(decode_label(part) for part in value)
    if isinstance(value, dict):
        ((name, content),) = value.items()
        for kind, _, decode in _TAGGED:
            if kind.__name__ == name:
                return decode(content)
        return content
    return value


_TAGGED: tuple[tuple[type, Any, Any], ...] = (
    (float, float.hex, float.fromhex),
    (Decimal, str, Decimal),
    (bytes, bytes.hex, bytes.fromhex),
    (datetime, datetime.isoformat, datetime.fromisoformat),
    (date, date.isoformat, date.fromisoformat),
)
