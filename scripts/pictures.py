"""The pictures of the docs, made from code: answers, a plan, what draws cost together; and the first page's demo.

    python scripts/pictures.py            draws what is missing or out of date
    python scripts/pictures.py --check    fails when a picture, or the demo, is not what the code says

Randomness is replayed, so a picture changes only when the code does. Each file carries a hash of what it shows (not of
its bytes, which depend on the drawing library); `tests/docs/test_pictures.py` runs the check.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import crestline as cl
from crestline.cli.output import Format
from crestline.cli.top import print_answer
from crestline.examples.library_data import USERS, write_loans
from crestline.examples.shop_data import write_shop
from crestline.guarantees.composition import BOUNDS, basic_composition, optimal_composition
from crestline.pictures import Picture, import_altair
from crestline.plan.count_models import read_shape
from crestline.plan.forecast import Simulation
from crestline.plan.plan import plan_for_shape
from crestline.plan.plot import plot as plan_plot
from crestline.question import Question

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
MARK = "<!-- shows "
FIRST_PAGE = FOLDER.parent / "index.md"
DEMO = "<!-- demo: written by scripts/pictures.py -->", "<!-- end of demo -->"
EPSILON, SLACK, DRAWS = Fraction(1, 10), Fraction(1, 10**6), 1000  # of the picture of accountants
_POINTS = 28  # of each line
_COLOURS = {
    "advanced": "#8a8f98",
    "bounded range": "#c8793a",
    "Dong et al.": "#b0413e",
    "zCDP": "#7a5ea8",
    "Rényi": "#3d8a6b",
    "optimum": "#2f5d8a",
}
COMPARED = ("LimitedDomain", "RestrictedGumbel", "CanonicalBottom", "TopStable", "FixedThreshold")


def _loans(**asked: Any) -> cl.Answer:
    """An answer about the demo's invented loans, replayed, but shown as the demo shows it."""
    with tempfile.TemporaryDirectory() as folder:
        loans = Path(folder) / "loans.csv"
        write_loans(loans)
        total: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
        made = cl.top_k(loans, user="reader", item="title", **total, **asked, entropy=cl.entropy.replay("docs"))
    return cl.Answer(**{**vars(made), "source": "loans.csv", "replayed": False})


def answer() -> Picture:
    """An answer with noisy counts."""
    return _loans(k=8, contribution=5, counts=True).plot()


def demo() -> str:
    """What the demo prints for its private answer, as a block of the first page."""
    command = "$ crestline top loans.csv --user reader --item title -k 12 --epsilon 1 --delta 1e-6\n"
    os.environ["COLUMNS"] = "100"
    with redirect_stdout(io.StringIO()) as printed:
        print_answer(_loans(k=12), Format.TABLE)
    text = "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
    return f"{DEMO[0]}\n\n```text\n{command}{text}\n```\n\n{DEMO[1]}"


def plan() -> Picture:
    """Some mechanisms at the same (ε, δ), for data of a public shape."""
    shape = read_shape("power:1", users=USERS, per_user=3.0)
    question = Question.from_fields({"k": 20, "epsilon": 1, "delta": "1e-6", "k_bar": 100})
    return plan_plot(
        plan_for_shape(shape, question, Simulation(cl.entropy.replay("docs"), 100), mechanisms=COMPARED, users=USERS)
    )


def account() -> Picture:
    """What draws of one ε cost together, by every accountant: the figure of [DR] Appendix A."""
    alt = import_altair()
    rows = _ratio_rows()
    colour = alt.Color(
        "accountant:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), legend=None
    )
    draws = alt.X("k:Q", title="draws k", scale=alt.Scale(type="log"), axis=alt.Axis(grid=False, tickCount=6))
    ratio = alt.Y("ratio:Q", title="ε over the optimum for pure steps", axis=alt.Axis(format="%"))
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(x=draws, y=ratio, color=colour)
    words = (
        alt.Chart(alt.Data(values=_labels(rows)))
        .mark_text(align="left", dx=6, fontSize=12)
        .encode(x="k:Q", y="ratio:Q", text="accountant:N", color=colour)
    )
    title = alt.Title(
        "What draws of bounded range cost together",
        subtitle=[
            f"Each draw ε = {float(EPSILON):g}, failure probability 1e-6; no theorem above plain addition.",
            "Below 100%: better than any bound can be for pure DP.",
        ],
    )
    return Picture(alt.layer(lines, words).properties(title=title, width=480, height=320))


def _ratio_rows() -> list[dict[str, Any]]:
    """One row for each theorem and number of draws, with plain addition where that is better."""
    rows = []
    for k in sorted({round(DRAWS ** (place / (_POINTS - 1))) for place in range(_POINTS)}):
        best, plain = optimal_composition(k, EPSILON, SLACK), basic_composition(k, EPSILON)
        for bound in BOUNDS:
            if bound.name in _COLOURS:
                ratio = min(bound.epsilon(k, EPSILON, SLACK), plain) / best
                rows.append({"k": k, "accountant": bound.name, "ratio": float(ratio)})
    return rows


def _labels(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Labels at the right ends of the lines, moved apart where lines end close together."""
    ends = sorted((dict(row) for row in rows if row["k"] == DRAWS), key=lambda row: float(row["ratio"]))
    apart = max(row["ratio"] for row in rows) / 18
    for _ in range(100):
        for low, high in pairwise(ends):
            overlap = max(0.0, apart - (high["ratio"] - low["ratio"]))
            low["ratio"] -= overlap / 2
            high["ratio"] += overlap / 2
    return ends


def groups() -> Picture:
    """The top of every group: venues of each city, with noisy counts."""
    asked: dict[str, Any] = {"k": 5, "contribution": 2, "counts": True, "epsilon": 1, "delta": "1e-8"}
    with tempfile.TemporaryDirectory() as folder:
        write_shop(Path(folder))
        checkins, entropy = Path(folder) / "checkins.parquet", cl.entropy.replay("docs")
        made = cl.top_k(checkins, user="user", item="venue", by="city", **asked, entropy=entropy)
    return cl.Answer(**{**vars(made), "source": "checkins.parquet", "replayed": False}).plot()


PICTURES: dict[str, Callable[[], Picture]] = {"answer": answer, "plan": plan, "account": account, "groups": groups}


def shown(picture: Picture) -> str:
    """A hash of what a picture shows: marks and data, numbers to six digits, without the version of any library."""
    chart = {name: value for name, value in picture.chart.to_dict().items() if name not in ("$schema", "config")}
    return hashlib.sha256(json.dumps(_rounded(chart), sort_keys=True).encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main(arguments: list[str]) -> int:
    made = {name: make() for name, make in PICTURES.items()}
    stale = [name for name, picture in made.items() if f"{MARK}{shown(picture)} -->" not in _read(name)]
    page = FIRST_PAGE.read_text(encoding="utf-8")
    fresh = re.sub(f"{DEMO[0]}.*{DEMO[1]}", lambda _: demo(), page, flags=re.DOTALL)
    if "--check" in arguments:
        for name in stale:
            print(f"docs/pictures/{name}.svg is not what the code says: python scripts/pictures.py")
        if page != fresh:
            print("the demo in docs/index.md is not what the code prints: python scripts/pictures.py")
        return 1 if stale or page != fresh else 0
    FOLDER.mkdir(exist_ok=True)
    FIRST_PAGE.write_text(fresh, encoding="utf-8")
    for name in stale:
        _path(name).write_text(made[name].svg().rstrip() + f"\n{MARK}{shown(made[name])} -->\n", encoding="utf-8")
        print(f"drew docs/pictures/{name}.svg")
    return 0


def _path(name: str) -> Path:
    return FOLDER / f"{name}.svg"


def _read(name: str) -> str:
    return _path(name).read_text(encoding="utf-8") if _path(name).exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
