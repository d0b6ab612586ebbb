"""Chart of both output distributions of the worst pair, with the event that distinguishes them marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from crestline.audit.outcomes import Outcome
from crestline.audit.protocols import AttackResult
from crestline.audit.report import counts_text
from crestline.audit.target import AuditSubject
from crestline.audit.testers.features import kind_text
from crestline.pictures import COLOUR, QUIET, Picture, import_altair

NameOf = Callable[[Outcome], str]

_TRIALS = 20_000
_MOST = 14
_ORANGE = "#c2410c"
_FLOOR = 0.4 / _TRIALS
_WITH, _WITHOUT = "with the user", "without the user"


def plot(subject: AuditSubject, result: AttackResult) -> Picture:
    """Chart of a finding; runs the mechanism on both tables."""
    return Picture(_pair_chart(rows(subject, result), subject, result))


def rows(subject: AuditSubject, result: AttackResult) -> list[dict[str, Any]]:
    """One row for each displayed outcome and each of the two tables."""
    tables = {_WITH: result.pair.with_user, _WITHOUT: result.pair.without}
    samples = {name: subject.sample(counts, result.pair.shape, _TRIALS) for name, counts in tables.items()}
    name_of = (
        _bin_names(samples)
        if any(outcome.numbers for sample in samples.values() for outcome in sample)
        else _outcome_name
    )
    shares = {name: _count_shares(sample, name_of) for name, sample in samples.items()}
    telling = _rows_in_event(samples, name_of, result)
    order = sorted(set().union(*shares.values()), key=lambda row: -max(share[row] for share in shares.values()))
    first_rows = order[:_MOST]
    chart_rows = [
        {"outcome": row, "table": name, "probability": share[row] / _TRIALS, "event": row in telling}
        for row in first_rows
        for name, share in shares.items()
    ]
    if len(order) > _MOST:
        rest = f"{len(order) - _MOST} more"
        for name, share in shares.items():
            rest_count = sum(share[row] for row in order[_MOST:])
            chart_rows.append({"outcome": rest, "table": name, "probability": rest_count / _TRIALS, "event": False})
    return chart_rows


def _outcome_name(outcome: Outcome) -> str:
    return kind_text(outcome.key)


def _bin_names(samples: Mapping[str, Counter[Outcome]]) -> NameOf:
    """Function from an outcome to the bin of its first printed number, or to its text if it has none."""
    values = sorted(float(o.numbers[0]) for sample in samples.values() for o in sample if o.numbers)
    low, high = values[len(values) // 100], values[-1 - len(values) // 100]
    width = (high - low) / (_MOST - 4) or 1.0

    def name_of(outcome: Outcome) -> str:
        if not outcome.numbers:
            return _outcome_name(outcome)
        place = min(max(float(outcome.numbers[0]), low - width / 2), high + width / 2)
        start = low + width * ((place - low) // width)
        return f"{start:.3g} … {start + width:.3g}"

    return name_of


def _count_shares(sample: Counter[Outcome], name_of: NameOf) -> Counter[str]:
    shares: Counter[str] = Counter()
    for outcome, times in sample.items():
        shares[name_of(outcome)] += times
    return shares


def _rows_in_event(samples: Mapping[str, Counter[Outcome]], name_of: NameOf, result: AttackResult) -> set[str]:
    """Rows of which more releases lie in the event than outside."""
    inside: Counter[str] = Counter()
    for sample in samples.values():
        for outcome, times in sample.items():
            inside[name_of(outcome)] += times if result.tells(outcome) else -times
    return {row for row, balance in inside.items() if balance > 0}


def _pair_chart(values: list[dict[str, Any]], subject: AuditSubject, result: AttackResult) -> Any:
    """Chart with two dots for each outcome; on its logarithmic axis DP bounds their distance."""
    alt = import_altair()
    dots = [{**row, "probability": max(row["probability"], _FLOOR)} for row in values]
    order = list(dict.fromkeys(row["outcome"] for row in dots))
    title = f"probability, from {_TRIALS:,} releases of each table (the left edge: never seen)"
    place = {
        "scale": alt.Scale(type="log", domain=[_FLOOR, 1.0], nice=False),
        "axis": alt.Axis(values=[10.0**-n for n in range(5)], format="~g", title=title),
    }
    shared = {
        "y": alt.Y("outcome:N", sort=order, title=None, axis=alt.Axis(labelLimit=260, grid=True)),
        "opacity": alt.condition("datum.event", alt.value(1.0), alt.value(0.35)),
    }
    lines = alt.Chart(alt.Data(values=_probability_spans(dots))).mark_rule(strokeWidth=3, color=QUIET)
    marks = alt.Chart(alt.Data(values=dots)).mark_circle(size=110)
    colours = alt.Scale(domain=[_WITH, _WITHOUT], range=[_ORANGE, COLOUR])
    legend = alt.Color("table:N", title=None, scale=colours, legend=alt.Legend(orient="top"))
    layers = lines.encode(x=alt.X("low:Q", **place), x2="high:Q", **shared) + marks.encode(
        x=alt.X("probability:Q", **place), color=legend, **shared
    )
    return layers.properties(width=520, height=alt.Step(22), title=alt.Title(**_chart_title(subject, result)))


def _probability_spans(dots: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The smaller and the larger probability of each outcome."""
    spans: dict[str, dict[str, Any]] = {}
    for dot in dots:
        chance = dot["probability"]
        span = spans.setdefault(dot["outcome"], {**dot, "low": chance, "high": chance})
        span["low"], span["high"] = min(span["low"], chance), max(span["high"], chance)
    return list(spans.values())


def _chart_title(subject: AuditSubject, result: AttackResult) -> dict[str, Any]:
    verdict = "the promise is broken" if result.broken else "nothing was found"
    return {
        "text": f"{subject.name}: {verdict}",
        "subtitle": [
            f"claimed {subject.promise}; found {result.strength:.3g} for {subject.claim.unit}",
            f"{_WITH}: {counts_text(result.pair.with_user)}",
            f"{_WITHOUT}: {counts_text(result.pair.without)}",
            "full colour: the event that tells the two apart",
        ],
    }
