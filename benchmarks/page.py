"""The page of results, made from the tables' own files: it can be made again without measuring anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import (
    canonical,
    full_domain,
    groups,
    ledger_load,
    pairs,
    questions,
    relation,
    restricted,
    scale,
    scaling,
    service_load,
    sources,
    startup,
)
from benchmarks.figures import picture, slopes
from benchmarks.measuring import Row, human

TABLES: dict[str, Any] = {
    "restricted": restricted,
    "full_domain": full_domain,
    "canonical": canonical,
    "scaling": scaling,
    "sources": sources,
    "scale": scale,
    "pairs": pairs,
    "relation": relation,
    "groups": groups,
    "startup": startup,
    "ledger": ledger_load,
    "questions": questions,
    "service": service_load,
}
# Which plots a table has: the axis, and what is held fixed along it.
AXES: dict[str, dict[str, dict[str, Any]]] = {
    "full_domain": {"d": {}},
    "scaling": {"k_bar": {"k": scaling.FIXED_K}, "k": {"k_bar": scaling.FIXED_SLOTS}},
    "sources": {"rows": {"engine": "DuckDB"}},
}
INTRODUCTION = """# Performance

Everything on this page comes from one command, `{command}`, and each table was measured side by side in one run:
works take turns, in an order that changes from round to round, so that whatever the machine does meanwhile hits all
alike; what takes less than a tenth of a second is done three times in its turn, and the median counts. Times are
medians, with half the distance between the quartiles behind ±. *Exact* says that the output follows the ideal law, no
matter what floating point does; *cryptographic* that the random bits come from a cryptographic generator. The figures
of each table are kept in `performance/*.json`, from which `python -m benchmarks --render` makes this page again.
"""


def load(folder: Path, name: str) -> dict[str, Any] | None:
    file = folder / "performance" / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def render(folder: Path) -> Path:
    """Write `performance.md` and its pictures from the tables' files."""
    parts = [INTRODUCTION.format(command="make bench")]
    for name in TABLES:
        kept = load(folder, name)
        if kept and kept["rows"]:
            parts.append(section(folder, name, kept))
    beside, measured = folder.parent / "how-to" / "scale.md", load(folder, "scale")
    if measured and measured["rows"] and beside.exists():
        scale.fill(beside, measured)
    page = folder / "performance.md"
    page.write_text("\n".join(parts))
    return page


def section(folder: Path, name: str, kept: dict[str, Any]) -> str:
    module = TABLES[name]
    rows = [Row(**row) for row in kept["rows"]]
    said = [f"- {sentence}" for sentence in module.words(rows)]
    shown = []
    for axis, fixed in AXES.get(name, {}).items():
        along = [row for row in rows if fixed.items() <= row.setting.items()]
        drawn = picture(along, axis, _title(module, axis, fixed))
        if drawn:
            target = f"performance/{name}-{axis}.svg"
            drawn.save(folder / target)
            said += [f"- {sentence}" for sentence in slopes(along, axis)]
            shown.append(f"![{_title(module, axis, fixed)}]({target})\n")
    about = " ".join((module.__doc__ or "").split())
    command = f"```console\n$ {kept['command']}\n```\n\n{kept['machine']} {kept['seconds']:.0f} s in all.\n"
    words = "\n".join(said) + "\n" if said else ""
    return "\n".join([f"## {module.TITLE}\n", about + "\n", command, words, table(rows, module.ACROSS), *shown])


def _title(module: Any, axis: str, fixed: dict[str, Any]) -> str:
    held = ", ".join(f"{key} = {value:,}" if isinstance(value, int) else str(value) for key, value in fixed.items())
    return f"Time against {axis}" + (f" ({held})" if held else "") + (": top 10 of d items" if axis == "d" else "")


def table(rows: list[Row], across: tuple[str, ...]) -> str:
    """Markdown: one line for each of those measured, one column for each setting across."""
    columns = list(dict.fromkeys(tuple(row.setting.get(key) for key in across) for row in rows)) if across else [()]
    others = list(dict.fromkeys(key for row in rows for key in row.setting if key not in across))
    extras = list(dict.fromkeys(key for row in rows for key in row.extra))
    timed = any(row.median is not None or row.note for row in rows)
    judged = any(row.exact is not None for row in rows)
    head = ["", *others, *([_heading(across, column) for column in columns] if timed else [])]
    head += [*extras, *(["exact", "cryptographic"] if judged else [])]
    lines = [head, ["---"] * (1 + len(others)) + ["---:"] * (len(head) - 1 - len(others))]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.who, *(row.setting.get(key, "") for key in others)), []).append(row)
    for key, members in groups.items():
        at = {tuple(row.setting.get(name) for name in across): row for row in members}
        line = [str(key[0]), *(_size(value) for value in key[1:])]
        line += [cell(at.get(column)) for column in columns] if timed else []
        line += [_number(members[0].extra.get(name)) for name in extras]
        line += [_yes(members[0].exact), _yes(members[0].cryptographic)] if judged else []
        lines.append(line)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _heading(across: tuple[str, ...], column: tuple[Any, ...]) -> str:
    return ", ".join(f"{key} = {_size(value)}" for key, value in zip(across, column, strict=True)) or "time"


def cell(row: Row | None) -> str:
    if row is None or row.median is None:
        return row.note if row else ""
    if row.runs < 2:
        return f"{human(row.median)} (once)"
    half = ((row.high or 0.0) - (row.low or 0.0)) / 2 / row.median
    return f"{human(row.median)} ± {half:.0%}"


def _size(value: Any) -> str:
    if isinstance(value, int) and value >= 10**4 and 10 ** (len(str(value)) - 1) == value:
        return f"10^{len(str(value)) - 1}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _number(value: Any) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _yes(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"
