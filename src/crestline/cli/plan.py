"""`crestline plan`: what each mechanism would return. Reads no private data."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from crestline.cli.options import PlotOption, with_question_options
from crestline.cli.output import Format, FormatOption, print_result
from crestline.cli.progress import show_share
from crestline.question_fields import Face


@with_question_options(Face.PLAN, required=("k", "epsilon", "delta"), leaving_out=("mechanism",))
def plan(
    *,
    question: dict[str, Any],
    users: Annotated[int | None, typer.Option(help="How many users there are, roughly.")] = None,
    shape: Annotated[
        str, typer.Option(help="power:EXPONENT, or published percentiles such as percentiles:50:2,99:24,100:2931.")
    ] = "power:1",
    items: Annotated[int | None, typer.Option(help="How many items there are (as many as users unless given).")] = None,
    per_user: Annotated[float, typer.Option(help="How often each user picks, for a power law.")] = 10.0,
    mechanism: Annotated[
        list[str] | None, typer.Option(help="Compare only this one; repeat it for several. All unless given.")
    ] = None,
    public_items: Annotated[
        bool, typer.Option("--public-items", help="The list of all items is public (their counts are not).")
    ] = False,
    on: Annotated[str | None, typer.Option(help="Plan on this file instead of a shape. Needs --public.")] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Declare the file given with --on public: nothing in it needs protection.")
    ] = False,
    trials: Annotated[int, typer.Option(help="How many releases are simulated for each line.")] = 300,
    plot: PlotOption = None,
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
    from crestline.plan.printing import csv_rows
    from crestline.plan.public_file import read_public_counts
    from crestline.question import Question, QuestionFields
    from crestline.randomness.entropy import system

    if plot is not None:
        check_can_draw(plot)
    whole_number(trials, "trials", at_least=2)
    compared = tuple(entry(name).name for name in mechanism or ())
    if "groups_per_user" in question:  # the plan is for one group of such a question
        question["by"] = "group"
    asked = Question.from_fields(cast(QuestionFields, question))
    with show_share("Trying mechanisms") as tell:
        simulation = Simulation(system(), trials, lambda done, of: tell("Trying mechanisms", done / of))
        if on is not None:
            if public and not {"user", "item"} <= question.keys():
                raise QuestionError("name the columns of the public file: --user COLUMN --item COLUMN")
            data = PublicData(read_public_counts(on, asked, declared=public))
            made = plan_for_public_data(data, asked, simulation, mechanisms=compared, users=users)
        elif users is None:
            raise ParameterError("say how many users there are, roughly: --users 500000 (or plan --on a public file)")
        else:
            known = read_shape(shape, users=users, items=items, per_user=per_user)
            made = plan_for_shape(known, asked, simulation, mechanisms=compared, users=users, public_items=public_items)
    print_result(
        form,
        json=made.to_dict,
        csv=lambda: csv_rows(made),
        text=lambda: made,
    )
    if plot is not None:
        draw(made).save(plot)
