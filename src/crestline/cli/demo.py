"""`crestline demo`: a guided tour with generated data, by the commands that it shows."""

from __future__ import annotations

import csv
import shlex
from contextlib import chdir, nullcontext
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from crestline.cli.output import echo_lines
from crestline.examples.library_data import LONELY_READER, LONELY_TITLE, USERS, write_loans

_ASK = "top loans.csv --user reader --item title"
_PAID_BY_ITEM = "-k 20 --epsilon 0.5 --delta 1e-8 --mechanism LimitedDomain --ledger ledger.db"


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the data, also those that the pages use, the ledger and the picture in this folder."),
    ] = None,
) -> None:
    """A guided tour: a leak, the private answer, the ledger, the plan, the chart. Needs nothing but this package."""
    from crestline.errors import ParameterError
    from crestline.examples import shop

    if keep is not None:
        if keep.is_file() or (keep / "ledger.db").exists():
            raise ParameterError(f"{keep} is in use: name a new folder, such as --keep demo")
        keep.mkdir(parents=True, exist_ok=True)
    with nullcontext(keep) if keep else TemporaryDirectory(prefix="crestline-demo-") as folder, chdir(folder):
        _run_tour()
        if keep is not None:
            shop(Path())
            echo_lines("", f"In {keep} are also the data of the documentation: checkins.parquet, sales.parquet,"
                           " shop.duckdb.")  # fmt: skip


def _run_tour() -> None:
    write_loans(Path("loans.csv"))
    write_loans(Path("loans_without_one_reader.csv"), without=LONELY_READER)
    gone = sorted(_read_titles("loans.csv") - _read_titles("loans_without_one_reader.csv"))
    assert gone == [LONELY_TITLE], "the invented data hold one title that only one reader has"
    echo_lines(
        "1. The data",
        f"{USERS:,} invented readers and their loans: loans.csv, columns reader and title.",
        "",
        "2. The leak",
        "A plain `count … group by title` is asked twice: with everybody, and after one reader has left.",
        f"Comparing the two lists shows what only that reader had borrowed: '{LONELY_TITLE}'.",
    )
    _run_command("3. The private answer", f"{_ASK} -k 12 --epsilon 1 --delta 1e-6")
    _run_command("4. The ledger: a budget for all answers together", "ledger create ledger.db --epsilon 2 --delta 1e-5")
    _run_command("What a question may cost, before it is asked", f"price {_PAID_BY_ITEM}")
    _run_command("It pays for what comes back", f"{_ASK} {_PAID_BY_ITEM}")
    _run_command("Asked again, the stored answer costs nothing", f"{_ASK} {_PAID_BY_ITEM} --format csv")
    _run_command("5. The plan, which reads no data", f"plan -k 20 --epsilon 1 --delta 1e-6 --users {USERS} --trials 50")
    if find_spec("altair") and find_spec("vl_convert"):
        _run_command("6. The picture", f"{_ASK} -k 12 --epsilon 1 --delta 1e-6 --counts --plot top.svg")
    else:
        echo_lines("", "6. The picture", "It needs one more package: pip install 'crestline[plot]'.")
    echo_lines(
        "",
        "7. Now yours",
        "$ crestline check FILE       what can be asked of a table",
        "$ crestline init FILE        a service for one table, with a page to ask from",
        "$ crestline --help           everything else",
    )


def _run_command(title: str, command: str) -> None:
    """Print a command, and run it as in a terminal."""
    from crestline.cli.main import app

    echo_lines("", title, f"$ crestline {command}")
    form = [] if "--format" in command else ["--format", "table"]
    app([*shlex.split(command), *form], prog_name="crestline", standalone_mode=False)


def _read_titles(path: str) -> set[str]:
    with Path(path).open(encoding="utf-8") as file:
        return {row["title"] for row in csv.DictReader(file)}
