"""An answer as people see it first: its table, and three lines on what came, what is promised, and what it cost.

`explain` has the rest. Labels are untrusted text: they cannot control a terminal, and are escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from crestline.answer.answer import Answer
from crestline.answer.explain import payment_line, promise_line, rounded_users, share_text
from crestline.answer.group_answers import items_found_text
from crestline.answer.tabular import columns
from crestline.label_text import html_text, printable_lines, printable_text

_NOTHING = "(no item could be named)"
_WARNING = "Warning:"


def to_text(answer: Answer) -> str:
    """The table and the lines of `summary`, as plain text."""
    return "\n".join([*table_lines(answer), "", *summary(answer)])


def table_lines(answer: Answer) -> list[str]:
    """Lines of the table: labels to the left, numbers to the right, also where characters are two cells wide."""
    if not answer.items:
        return [_NOTHING]
    names = {*answer.question.by, *answer.question.item}
    return align(list(_printed_rows(answer)), [name in names for name in columns(answer)])


def align(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Rows of cells as lines of text in columns."""
    from rich.cells import cell_len

    widths = [max(cell_len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        spaces = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [f"{cell}{gap}" if side else f"{gap}{cell}" for cell, gap, side in zip(row, spaces, left, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def to_html(answer: Answer) -> str:
    """HTML table with the question above it, the lines of `summary` below, and the explanation folded."""
    names = {*answer.question.by, *answer.question.item}
    sides = [f' style="text-align:{"left" if name in names else "right"}"' for name in columns(answer)]
    head, *body = _printed_rows(answer)
    rows = ["".join(f"<td{side}>{escape(cell)}</td>" for side, cell in zip(sides, row, strict=True)) for row in body]
    heads = "".join(f"<th{side}>{escape(cell)}</th>" for side, cell in zip(sides, head, strict=True))
    explained = escape(printable_lines(answer.explain()))
    return (
        f"<table><caption>{html_text(answer.heading)}</caption><thead><tr>{heads}</tr></thead><tbody>"
        f"{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
        f"{'' if answer.items else f'<p>{_NOTHING}</p>'}"
        f"<p>{'<br>'.join(map(html_text, summary(answer)))}</p>"
        f"<details><summary>What was asked, promised and paid</summary><pre>{explained}</pre></details>"
    )


def summary(answer: Answer) -> tuple[str, ...]:
    """Three lines: how many of how many and why fewer, the promise, the cost. Warnings, if there are any, follow."""
    warnings = [note for note in answer.notes if note.startswith(_WARNING)]
    if answer.replayed:
        warnings.append(f"{_WARNING} made with replayable randomness, for tests and simulations. It is not private.")
    return tuple(map(printable_text, (found_line(answer), promise_line(answer), payment_line(answer), *warnings)))


def found_line(answer: Answer) -> str:
    """How many items of how many, and why there are fewer."""
    if answer.by_group is not None:
        parts = [items_found_text(answer.by_group, answer.question.k)]
    else:
        parts = [f"{len(answer):,} of {answer.question.k:,}"]
    if answer.stopped:
        parts[0] += ": stopped on purpose, as one more name could depend on a single user"
        if answer.needs is not None:
            parts.append(f"a name needs {answer.needs}")
    if isinstance(answer.items, frozenset) and len(answer) > 1:
        parts.append("a set, so their order means nothing")
    if answer.counts is not None and answer.spread is not None:
        parts.append(f"counts are ±{rounded_users(answer.spread)} {answer.count_unit}")
    elif answer.intervals:
        parts.append(f"each count is of {answer.count_unit}, from low to high with 95% probability")
    if answer.coverage is not None:
        reached = answer.coverage
        share = f"{reached.users:,}" if reached.share is None else f"{share_text(reached)} of"
        parts.append(f"{share} users have one of them")
    return "; ".join(parts) + "."


def _printed_rows(answer: Answer) -> Iterator[list[str]]:
    """The heading and the rows of the table as text; counts have separators, labels are as they are."""
    table = columns(answer)
    names = {*answer.question.by, *answer.question.item}
    yield [printable_text(name) for name in table]
    for row in zip(*table.values(), strict=True):
        yield [_cell(value, label=name in names) for name, value in zip(table, row, strict=True)]


def _cell(value: object, *, label: bool) -> str:
    if label or not isinstance(value, int | float):
        return printable_text(value)
    return f"{value:,}" if isinstance(value, int) or not value.is_integer() else f"{int(value):,}"
