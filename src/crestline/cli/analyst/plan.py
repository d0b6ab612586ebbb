"""`crestline plan`: what each mechanism would return. Reads no private data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.analyst.options import ContributionOption
from crestline.cli.output import Format, FormatOption, make_console, print_json, print_rows, resolve_format

if TYPE_CHECKING:
    from crestline.plan.forecast import Estimate, Forecast, Watch
    from crestline.plan.plan import Plan

COLUMNS = {
    "mechanism": "mechanism",
    "k_bar": "k_bar",
    "needed": "count for 95%",
    "returned": "items named",
    "ratio": "score ratio",
    "output": "output",
}


def plan(
    k: Annotated[int, typer.Option("-k", "--k", help="How many items are wanted.")],
    epsilon: Annotated[str, typer.Option(help="The total ε of the answer, for example 1 or 0.5.")],
    delta: Annotated[str, typer.Option(help="The total δ of the answer, for example 1e-8.")],
    users: Annotated[int | None, typer.Option(help="How many users there are, roughly.")] = None,
    shape: Annotated[
        str, typer.Option(help="power:EXPONENT, or published percentiles such as percentiles:50:2,99:24,100:2931.")
    ] = "power:1",
    items: Annotated[int | None, typer.Option(help="How many items there are (as many as users unless given).")] = None,
    per_user: Annotated[float, typer.Option(help="How often each user picks, for a power law.")] = 10.0,
    contribution: ContributionOption = None,
    k_bar: Annotated[
        int | None, typer.Option(help="How many items a mechanism may see; tried out unless given.")
    ] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option(help="Compare only this one; repeat it for several. All unless given.")
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Plan with a tenth less ε: the coverage of the answer takes it.")
    ] = False,
    ordered: Annotated[bool, typer.Option("--ordered/--set", help="A list, or a set if that names more.")] = True,
    passes: Annotated[int | None, typer.Option(help="1: one pass over the table, by k_bar + 1 rows.")] = None,
    public_items: Annotated[
        bool, typer.Option("--public-items", help="The list of all items is public (their counts are not).")
    ] = False,
    on: Annotated[str | None, typer.Option(help="Plan on this file instead of a shape. Needs --public.")] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Declare the file given with --on public: nothing in it needs protection.")
    ] = False,
    user: Annotated[str | None, typer.Option(help="With --on: the column that holds the user.")] = None,
    item: Annotated[list[str] | None, typer.Option(help="With --on: the column that holds the item.")] = None,
    groups_per_user: Annotated[
        int, typer.Option(help="Plan for one group of a question with groups: the number of groups of each user.")
    ] = 1,
    trials: Annotated[int, typer.Option(help="How many releases are simulated for each line.")] = 300,
    plot: Annotated[str | None, typer.Option(help="Also draw the plan; the name ends in .svg or .png.")] = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Forecast what each mechanism would return at the same (ε, δ), before anything is asked. Reads no private data.

    Example: crestline plan -k 50 --epsilon 1 --delta 1e-8 --users 500000 --shape power:1.1
    """
    from crestline.errors import ParameterError, QuestionError
    from crestline.exact_numbers import whole_number
    from crestline.mechanisms.catalogue import entry
    from crestline.pictures import check_can_draw
    from crestline.plan.count_models import read_shape
    from crestline.plan.forecast import PublicData, Simulation
    from crestline.plan.plan import plan_for_public_data, plan_for_shape
    from crestline.plan.plot import plot as draw
    from crestline.plan.public_file import read_public_counts
    from crestline.question import Question, QuestionFields
    from crestline.randomness.entropy import system

    if plot is not None:
        check_can_draw(plot)
    whole_number(trials, "trials", at_least=2)
    compared = tuple(entry(name).name for name in mechanism or ())
    about: QuestionFields = {"k": k, "epsilon": epsilon, "delta": delta, "contribution": contribution, "k_bar": k_bar}
    about |= {"ordered": ordered, "passes": passes, "coverage": coverage}
    if groups_per_user != 1:
        about |= {"by": "group", "groups_per_user": groups_per_user}
    if user:
        about["user"] = user
    if item:
        about["item"] = item
    question = Question.from_fields(about)
    with _progress() as watch:
        if on is not None:
            if public and not (user and item):
                raise QuestionError("name the columns of the public file: --user COLUMN --item COLUMN")
            data = PublicData(read_public_counts(on, question, declared=public))
            made = plan_for_public_data(
                data, question, Simulation(system(), trials, watch), mechanisms=compared, users=users
            )
        elif users is None:
            raise ParameterError("say how many users there are, roughly: --users 500000 (or plan --on a public file)")
        else:
            known = read_shape(shape, users=users, items=items, per_user=per_user)
            made = plan_for_shape(
                known,
                question,
                Simulation(system(), trials, watch),
                mechanisms=compared,
                users=users,
                public_items=public_items,
            )
    print_plan(made, form)
    if plot is not None:
        draw(made).save(plot)


def print_plan(plan: Plan, form: Format) -> None:
    """Print a plan as a table with its advice, as JSON, or as CSV."""
    form = resolve_format(form)
    if form is Format.JSON:
        print_json(plan.to_dict())
        return
    print_rows(COLUMNS, [_cells(row, plain=form is Format.CSV) for row in plan.rows], form)
    if form is Format.TABLE:
        out = make_console()
        for line in (plan.advice, f"mechanism='auto' takes {plan.auto}.", *plan.notes):
            out.print(line, markup=False)
        for skipped in plan.skipped:
            out.print(f"Left out: {skipped.mechanism}: {skipped.reason}", markup=False, style="dim")


def _cells(row: Forecast, *, plain: bool) -> dict[str, Any]:
    values: dict[str, Any]
    if plain:
        values = {"needed": row.needed, "returned": row.returned.value, "ratio": row.ratio.value}
    else:
        values = {
            "needed": "" if row.needed is None else f"{row.needed:,.0f}",
            "returned": _estimate_text(row.returned, "{:.1f}"),
            "ratio": _estimate_text(row.ratio, "{:.3f}"),
        }
    sight = "all" if row.k_bar is None else row.k_bar
    return {"mechanism": row.mechanism, "k_bar": sight, "output": row.output, **values}


def _estimate_text(estimate: Estimate, form: str) -> str:
    text = form.format(estimate.value)
    return f"{text} ± {form.format(estimate.error)}" if estimate.simulated else text


@contextmanager
def _progress() -> Iterator[Watch]:
    """Progress bar on standard error, removed when the work is done."""
    from rich.progress import Progress

    with Progress(console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("Trying mechanisms", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)
