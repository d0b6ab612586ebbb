"""The page of the audits of others, from what the audits found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reproduction.audits.subjects import AUDITED, Audited
from reproduction.render import table

NOTE = "<!-- Written by `python -m reproduction.audits`; do not edit. -->\n\n"
TEMPLATE = Path(__file__).with_name("template.md")


def page(findings: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole page; findings by target and version."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for library in ("opendp", "diffprivlib", ""):
        rows = [row for one in AUDITED if one.library == library for row in _rows(one, findings)]
        head = ["what", "version" if library else "erratum", "promise", "claimed", "found", "verdict", "releases"]
        text = text.replace("{{" + (library or "printed") + "}}", table(head, rows).rstrip())
    shares = [f"{one['second_item']:.4f} ({one['version']})" for one in findings.values() if "second_item" in one]
    by_gumbel, by_flipping = 1 / (1 + math.e**2), math.exp(-2) / 2
    text = text.replace("{{shares}}", ", ".join(sorted(shares, key=lambda share: share.split("(")[1])))
    return NOTE + text.replace("{{gumbel}}", f"{by_gumbel:.4f}").replace("{{flipping}}", f"{by_flipping:.4f}")


def _rows(one: Audited, findings: Mapping[str, Mapping[str, Any]]) -> list[Sequence[str]]:
    found = [value for value in findings.values() if value["target"] == one.target]
    return [
        [
            one.words,
            value["version"] if one.library else one.remark,
            value["promise"],
            f"{value['claimed']:.4g}",
            f"{value['found']:.3g}",
            f"**{value['verdict']}**" if value["broken"] else value["verdict"],
            f"{value['releases']:,}",
        ]
        for value in sorted(found, key=lambda value: str(value["version"]))
    ]
