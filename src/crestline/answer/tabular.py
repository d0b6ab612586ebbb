"""The answer as columns, Arrow, pandas and Polars. Each has values of the answer only; `printing` has text and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from crestline.answer.answer import Answer
from crestline.answer.group_answers import GroupItems
from crestline.errors import ParameterError
from crestline.exact_numbers import int_or_float
from crestline.histogram.label_order import Label

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

RANK = "rank"
COUNT, LOW, HIGH = "count", "low", "high"


def columns(answer: Answer) -> dict[str, list[Any]]:
    """Column names with one value for each item: the columns of `by`, the rank, the item, its noisy count and interval.

    A set has no rank; ranks of groups start at 1 in each group.
    """
    names, by = answer.question.item, () if answer.by_group is None else answer.question.by
    items = answer.listed_items if answer.by_group is None else _items_of_groups(answer.by_group)
    table: dict[str, list[Any]] = {}
    for place, name in enumerate(by):
        table[name] = [_item_parts(group.label, len(by))[place] for group in answer.by_group or () for _ in group.items]
    if isinstance(answer.items, tuple):
        table[unused_name(RANK, (*by, *names))] = _ranks(answer)
    for place, name in enumerate(names):
        table[name] = [_item_parts(item, len(names))[place] for item in items]
    if answer.counts is not None:
        table[unused_name(COUNT, (*by, *names))] = [int_or_float(count) for count in answer.counts]
    for place, end in enumerate((LOW, HIGH)):
        if answer.intervals is not None:
            table[unused_name(end, (*by, *names))] = [interval[place] for interval in answer.intervals]
    return table


def _items_of_groups(groups: Sequence[GroupItems]) -> list[Any]:
    return [item for group in groups for item in group.listed_items]


def _ranks(answer: Answer) -> list[int]:
    sizes = [len(answer)] if answer.by_group is None else [len(group.items) for group in answer.by_group]
    return [rank for size in sizes for rank in range(1, size + 1)]


def unused_name(name: str, names: tuple[str, ...]) -> str:
    """The name, with underscores appended until no item or group column has it."""
    while name in names:
        name += "_"
    return name


def _item_parts(item: Label, width: int) -> tuple[Any, ...]:
    """One value for each item column; a label with another number of parts goes into the first column."""
    if width > 1 and isinstance(item, tuple) and len(item) == width:
        return item
    return (item, *[None] * (width - 1))


def to_arrow(answer: Answer) -> pyarrow.Table:
    """Table of an answer; a column whose labels have several types becomes text."""
    import pyarrow

    arrays = {name: _arrow_array(values) for name, values in columns(answer).items()}
    counted = _count_type(answer)
    for name, kind in ((RANK, "int64"), (COUNT, counted), (LOW, counted), (HIGH, counted)):  # also where it is empty
        ours = unused_name(name, (*answer.question.by, *answer.question.item))
        if ours in arrays:
            arrays[ours] = arrays[ours].cast(kind)
    return pyarrow.table(arrays)


def _count_type(answer: Answer) -> str:
    """Arrow type of counts: integers for users, unless noise took one beyond 64 bits; floats for sums."""
    ends = [Fraction(end) for interval in answer.intervals or () for end in interval]
    whole = answer.question.score is None and all(
        number.denominator == 1 and abs(number) < 2**63 for number in (*(answer.counts or ()), *ends)
    )
    return "int64" if whole else "float64"


def to_polars(answer: Answer) -> polars.DataFrame:
    """`polars.DataFrame` of an answer.

    Raises:
        ParameterError: polars is not installed.
    """
    try:
        import polars
    except ImportError:
        raise ParameterError("polars is not installed: pip install polars, or use to_pandas or to_arrow") from None
    return polars.DataFrame(to_arrow(answer))


def to_pandas(answer: Answer) -> pandas.DataFrame:
    """`pandas.DataFrame` of an answer; its `attrs` have the coverage, if there is one."""
    frame = to_arrow(answer).to_pandas()
    if answer.coverage is not None:
        coverage = answer.coverage
        frame.attrs["coverage"] = {"users": coverage.users, "all_users": coverage.all_users, "share": coverage.share}
    return frame


def _arrow_array(values: list[Any]) -> pyarrow.Array:
    import pyarrow

    if len({type(value) for value in values}) > 1:
        values = [str(value) for value in values]
    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError):  # a type or size that Arrow cannot store
        return pyarrow.array([str(value) for value in values])
