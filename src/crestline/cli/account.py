"""`crestline account`: what releases cost together, or what each may cost, under every accountant side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from crestline.cli.output import Format, FormatOption, print_rows, resolve_format
from crestline.errors import ParameterError

if TYPE_CHECKING:
    from crestline.guarantees.accountants import Accountant
    from crestline.guarantees.composition import CompositionTheorem
    from crestline.guarantees.cost import Step

_RELEASE = re.compile(r"(?:(\d+)x)?([a-z]+):([^:]+)")
_NUMBERS = {"br": 1, "pure": 1, "test": 2, "interval": 2, "gauss": 1}
_EXAMPLES = "100xbr:0.05, pure:0.3, test:0.21,0.09, interval:0.09,0.3 or gauss:0.01"
_FILTERS = ("basic", "zCDP")

# `adaptive`: the theorem also holds when parameters are chosen after seeing answers (P10.5).
HEADINGS = {
    "accountant": "accountant",
    "epsilon": "ε",
    "adaptive": "adaptive parameters",
    "theorem": "theorem",
}

Bounds: TypeAlias = "Sequence[tuple[Accountant | CompositionTheorem, Fraction]]"


def account(
    releases: Annotated[
        list[str] | None,
        typer.Argument(
            help="Steps in the order they run, each TIMESxKIND:NUMBERS. Kinds: br:ε (one exponential-mechanism draw), "
            "pure:ε, test:ε1,ε2 (the one-sided test), interval:BELOW,ABOVE (of the privacy loss), gauss:μ² (s²/σ²)."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option("-k", "--steps", help="How many draws, of one item each.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The ε of each draw: what do they cost in all?")] = None,
    total: Annotated[str | None, typer.Option(help="The ε of all draws together: what may each cost?")] = None,
    slack: Annotated[str, typer.Option(help="The δ that composition may use; 0 leaves plain addition.")] = "1e-6",
    form: FormatOption = Format.AUTO,
) -> None:
    """Add releases up, or divide a total, under every accountant side by side.

    Examples: crestline account 100xbr:0.05 test:0.21,0.09   crestline account -k 100 --total 1 --slack 1e-6
    """
    from crestline.guarantees.rounding import round_down, round_up

    if releases and (steps is not None or epsilon is not None or total is not None):
        raise ParameterError("list releases, or use -k with --epsilon or --total, but not both")
    if epsilon is not None and total is not None:
        raise ParameterError("--epsilon asks for the total and --total for the parts: give one of them")
    if releases:
        title, bounds, rounded = f"Together, at slack {slack}", _totals_of_steps(releases, slack), round_up
    elif epsilon is None and total is None:
        raise ParameterError(
            f"nothing to add up: list releases such as {_EXAMPLES}, or give -k with --epsilon or --total"
        )
    elif steps is None:
        raise ParameterError("how many draws? add -k, for example -k 100")
    elif total is not None:
        title, rounded = f"Each of {steps} draws, for {total} in all at slack {slack}", round_down
        bounds = _largest_epsilons(steps, total, slack)
    else:
        title, rounded = f"{steps} draws of {epsilon}, at slack {slack}", round_up
        bounds = [(one, one.epsilon(steps, epsilon or "", slack)) for one in _available_theorems(slack)]
    table = resolve_format(form) is Format.TABLE  # six digits for people, rounded to the safe side
    rows = [
        {
            "accountant": one.name,
            "epsilon": f"{float(rounded(found, 6)):.6g}" if table else float(found),
            "adaptive": ("no", "yes")[one.name in _FILTERS] if table else one.name in _FILTERS,
            "theorem": one.theorem,
        }
        for one, found in bounds
    ]
    print_rows(HEADINGS, rows, form, title)


def _parse_release(text: str) -> tuple[int, str, list[str]]:
    """How often, which kind, and its numbers."""
    found = _RELEASE.fullmatch(text.strip())
    if found is None or found[2] not in _NUMBERS:
        raise ParameterError(f"{text!r} is not a release: write {_EXAMPLES}")
    numbers = found[3].split(",")
    if len(numbers) != _NUMBERS[found[2]]:
        raise ParameterError(f"{text!r}: {found[2]} takes {_NUMBERS[found[2]]} number(s), not {len(numbers)}")
    return int(found[1] or 1), found[2], numbers


def _step(kind: str, numbers: list[str]) -> Step:
    from crestline.exact_numbers import non_negative_number
    from crestline.guarantees.guarantee import BoundedRange, GaussianDP, LossInterval, PureDP

    first, last = (non_negative_number(number, kind) for number in (numbers[0], numbers[-1]))
    if kind == "test":
        return LossInterval(below=last, above=first + last)  # P2.4: the loss lies in [-ε2, ε1 + ε2]
    if kind == "interval":
        return LossInterval(below=first, above=last)
    if kind == "gauss":
        return GaussianDP(first)
    return BoundedRange(first) if kind == "br" else PureDP(first)


def _totals_of_steps(releases: Sequence[str], slack: str) -> Bounds:
    """The total of any steps, by every accountant that can bound them."""
    from crestline.exact_numbers import proportion
    from crestline.guarantees.accountants import ACCOUNTANTS
    from crestline.guarantees.cost import Cost, RepeatedStep

    parsed = map(_parse_release, releases)
    cost = Cost(tuple(RepeatedStep(_step(kind, numbers), times) for times, kind, numbers in parsed))
    totals = [(one, one.epsilon(cost, proportion(slack, "slack"))) for one in ACCOUNTANTS]
    bounds = [(one, total) for one, total in totals if total is not None]
    if not bounds:
        raise ParameterError("Gaussian noise has no pure epsilon: give --slack a number above zero, such as 1e-6")
    return bounds


def _largest_epsilons(k: int, total: str, slack: str) -> Bounds:
    """The largest ε of each of k draws, by every theorem (Ind, P10.4)."""
    from crestline.exact_numbers import positive_number, whole_number
    from crestline.guarantees.root_finding import largest_within

    budget, count = positive_number(total, "total"), whole_number(k, "k")

    def largest_epsilon(bound: CompositionTheorem) -> Fraction:
        return largest_within(lambda size: bound.epsilon(count, size, slack), budget, start=budget / count)

    return [(bound, largest_epsilon(bound)) for bound in _available_theorems(slack)]


def _available_theorems(slack: str) -> Sequence[CompositionTheorem]:
    """All theorems, or plain addition alone when nothing may fail."""
    from crestline.exact_numbers import proportion
    from crestline.guarantees.composition import BOUNDS

    return BOUNDS if proportion(slack, "slack") else BOUNDS[:1]
