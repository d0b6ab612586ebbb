"""Audit other libraries and printed algorithms, and write the page.

    python -m reproduction.audits                  whatever is installed; up to minutes each
    python -m reproduction.audits opendp           only what needs a library, or whose target holds the word
    python -m reproduction.audits --page           only the page, from docs/results/audits.json

Findings are kept by target and version, so another version of a library adds lines and replaces none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crestline.audit.attack import audit
from crestline.audit.import_target import load
from reproduction.audits.page import page
from reproduction.audits.subjects import AUDITED, Audited

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
KEPT = RESULTS / "audits.json"
SECONDS = 1800.0  # the number of releases ends an audit, not the speed of the machine


def attacked(one: Audited) -> dict[str, Any]:
    """What an audit found, as plain values."""
    mechanism: Any = load(one.target, ROOT)
    report = audit(mechanism, name=one.target, seconds=SECONDS, releases=one.releases)
    worst = report.worst
    return {
        **({"second_item": mechanism.second_item()} if one.told_apart else {}),
        "target": one.target,
        "version": one.version,
        "promise": report.promise,
        "claimed": report.claimed,
        "found": 0.0 if worst is None else min(worst.strength, 1e9),
        "broken": report.is_broken,
        "verdict": report.verdict,
        "releases": report.releases,
    }


def main(arguments: Sequence[str]) -> int:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    words = [word for word in arguments if not word.startswith("-")]
    chosen = [one for one in AUDITED if not words or any(word in (one.library, one.target) for word in words)]
    for one in () if "--page" in arguments else chosen:
        if one.version is None:
            sys.stderr.write(f"{one.library} is not installed: {one.target} is left out\n")
            continue
        found = attacked(one)
        kept[f"{one.target} {one.version}".strip()] = found
        sys.stdout.write(
            f"{one.target} {one.version}: {found['verdict']}, {found['found']:.3g} of {found['claimed']}\n"
        )
        sys.stdout.flush()
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (RESULTS / "audits-of-others.md").write_text(page(kept), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
