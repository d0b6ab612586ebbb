"""`crestline audit`: attack a mechanism or a whole program, crestline's own or of another author."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.options import PlotOption
from crestline.cli.output import Format, FormatOption, print_result
from crestline.cli.progress import show_share
from crestline.errors import ParameterError

if TYPE_CHECKING:
    from crestline.audit.program.report import ProgramReport
    from crestline.audit.report import Report


class Domain(StrEnum):
    KNOWN = "known"
    UNKNOWN = "unknown"


def audit(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:OBJECT]",
            help="An object with guarantee() and release(histogram, entropy), or what makes one without arguments. "
            "MODULE is looked for in the current folder first, and may be a path to a file. Without it a whole "
            "program is attacked: that of --program, or crestline's own top_k.",
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Attack a whole program, function(table) or function(table, where): table is the path of a CSV, JSON "
            "lines, Parquet or DuckDB file, where a filter.",
        ),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="What a whole program promises at most for one question.", min=0)] = 1,
    delta: Annotated[float, typer.Option(help="The same for δ.", min=0, max=0.5)] = 1e-6,
    seconds: Annotated[float, typer.Option(help="Stop after about this many seconds.", min=1)] = 40.0,
    k_bar: Annotated[int | None, typer.Option(help="How many items the mechanism may see.", min=1)] = None,
    domain: Annotated[
        Domain | None, typer.Option(help="known: every item of a public list; unknown: cut and padded.")
    ] = None,
    contribution: Annotated[
        int | None, typer.Option(help="The most items of one user; 0: any number. What it states, unless given.", min=0)
    ] = None,
    significance: Annotated[
        float, typer.Option(help="The chance to call an honest mechanism broken.", min=1e-12, max=0.1)
    ] = 1e-6,
    plot: PlotOption = None,
    form: FormatOption = Format.AUTO,
) -> None:
    """Try to break the promise of a mechanism or of a whole program, and report the neighbours that it distinguishes.

    Ends with 0 when nothing was found, 1 when the promise is broken, 2 when the audit could not run.
    Examples: crestline audit my_package:MyMechanism, crestline audit --program my_package:answer
    """
    if target is None or program is not None:
        if target is not None:
            raise ParameterError("name a mechanism or a --program, not both")
        _audit_program(program, epsilon, delta, seconds, significance, form)
        return
    from crestline.audit.attack import attack
    from crestline.audit.import_target import load
    from crestline.audit.plot import plot as draw
    from crestline.audit.target import StatedOverrides, prepare_subject
    from crestline.pictures import check_can_draw
    from crestline.randomness.entropy import system

    if plot is not None:
        check_can_draw(plot)
    mechanism = load(target, Path.cwd())
    kind = None if domain is None else str(domain)
    tested = prepare_subject(mechanism, system(), name=target, stated=StatedOverrides(k_bar, kind, contribution))
    with show_share("probing") as tell:
        report = attack(tested, seconds=seconds, significance=significance, tell=tell)
    _print_report(report, form)
    if plot is not None and report.worst is not None:
        draw(tested, report.worst).save(plot)
    if report.is_broken:
        raise typer.Exit(1)


def _audit_program(
    name: str | None, epsilon: float, delta: float, seconds: float, significance: float, form: Format
) -> None:
    """Attack a whole program; without a name, crestline's own."""
    from tempfile import TemporaryDirectory

    from crestline.audit.end_to_end import RunOptions, attack_program
    from crestline.audit.import_target import load_function

    attacked = _own_program if name is None else load_function(name, Path.cwd())
    with TemporaryDirectory(prefix="crestline-audit-") as folder, show_share("probing") as tell:
        report = attack_program(
            attacked,
            Path(folder),
            epsilon=epsilon,
            delta=delta,
            seconds=seconds,
            significance=significance,
            run=RunOptions(name or "crestline's own top_k", tell=tell),
        )
    _print_report(report, form)
    if report.is_broken or not report.ran:
        raise typer.Exit(1 if report.is_broken else 2)


def _own_program(table: str, where: str | None = None) -> object:
    """crestline's own program, with the arguments that a user would give."""
    from crestline.session import top_k

    in_database = table.endswith(".duckdb")
    answer = top_k(
        f"duckdb:///{table}" if in_database else table,
        table="events" if in_database else None,
        k=1,
        epsilon=1,
        delta="1e-6",
        where=where,
    )
    return answer.items, answer.stopped


def _print_report(report: Report | ProgramReport, form: Format) -> None:
    from crestline.answer.printing import align
    from crestline.label_text import printable_lines

    print_result(
        form,
        json=report.to_dict,
        csv=lambda: (("name", "value"), report.lines()),
        text=lambda: printable_lines("\n".join(align(report.lines(), (False, True)))),
    )
