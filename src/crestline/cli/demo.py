"""`crestline demo`: a guided tour with generated data."""

from __future__ import annotations

import csv
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.output import Format, make_console
from crestline.cli.top import print_answer
from crestline.examples.library_data import LONELY_READER, LONELY_TITLE, USERS, write_loans

if TYPE_CHECKING:
    from rich.console import Console

    from crestline.answer.answer import Answer


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the data, also those that the pages use, the ledger and the picture in this folder."),
    ] = None,
) -> None:
    """A guided tour: a leak, the private answer, the ledger, the plan, the chart. Needs nothing but this package."""
    out = make_console()
    if keep is not None:
        from crestline.examples import shop

        keep.mkdir(parents=True, exist_ok=True)
        _run_tour(keep, out, kept=True)
        shop(keep)
        out.print(f"\nIn {keep} are also the data of the documentation: checkins.parquet, sales.parquet, shop.duckdb.")
        return
    with tempfile.TemporaryDirectory(prefix="crestline-demo-") as folder:
        _run_tour(Path(folder), out, kept=False)


def _run_tour(folder: Path, out: Console, *, kept: bool) -> None:
    loans, smaller = folder / "loans.csv", folder / "loans_without_one_reader.csv"
    with out.status("Inventing a library's loans …"):
        write_loans(loans)
        write_loans(smaller, without=LONELY_READER)
    _print_heading(
        out, "1. The data", f"{USERS:,} invented readers and their loans: loans.csv, columns reader and title."
    )
    _show_leak(loans, smaller, out)
    answer = _ask_privately(loans, out)
    _show_ledger(loans, folder / "ledger.db", out)
    _show_plan(out)
    _draw_picture(answer, folder / "top.svg", out, kept=kept)
    _print_heading(
        out, "7. Now yours", "$ crestline top FILE --user COLUMN --item COLUMN -k 20 --epsilon 1 --delta 1e-8"
    )
    out.print("$ crestline mechanisms     what can be run, and what each promises")
    out.print("$ crestline --help         everything else")


def _show_leak(loans: Path, smaller: Path, out: Console) -> None:
    gone = sorted(_read_titles(loans) - _read_titles(smaller))
    assert gone == [LONELY_TITLE], "the invented data hold one title that only one reader has"
    _print_heading(
        out,
        "2. The leak",
        "A plain `count … group by title` is asked twice: with everybody, and after one reader has left. Comparing the "
        f"two lists shows what only that reader had borrowed: '{LONELY_TITLE}'.",
    )


def _ask_privately(loans: Path, out: Console) -> Answer:
    from crestline.session import top_k

    command = "$ crestline top loans.csv --user reader --item title -k 12 --epsilon 1 --delta 1e-6"
    _print_heading(out, "3. The private answer", command)
    with out.status("Asking …"):
        answer = top_k(loans, user="reader", item="title", k=12, epsilon=1, delta="1e-6")
    print_answer(answer, Format.TABLE)
    return answer


def _show_ledger(loans: Path, address: Path, out: Console) -> None:
    from crestline.ledger.budget import Budget
    from crestline.ledger.ledger import Ledger
    from crestline.session import top_k

    _print_heading(
        out,
        "4. The ledger",
        "$ crestline ledger create ledger.db --epsilon 2 --delta 1e-5\n"
        "$ crestline top loans.csv … -k 100 --epsilon 0.5 --delta 1e-6 --ledger ledger.db        (twice)",
    )
    address.unlink(missing_ok=True)
    with Ledger.create(address, Budget(epsilon=2, delta="1e-5")) as ledger, out.status("Asking …"):
        first = top_k(loans, user="reader", item="title", k=100, epsilon="0.5", delta="1e-6", ledger=ledger)
        again = top_k(loans, user="reader", item="title", k=100, epsilon="0.5", delta="1e-6", ledger=ledger)
    assert first.bill is not None
    out.print(
        f"100 titles were asked for, {len(first)} came back. Reserved before a row was read: {first.bill.reserved}."
    )
    out.print(f"Paid for what came back: {first.bill.paid}. Left: {first.bill.remaining}.")
    out.print(f"The second time: {'the stored answer, at no cost' if again.stored else 'a new answer'}.")


def _show_plan(out: Console) -> None:
    from crestline.plan.count_models import read_shape
    from crestline.plan.forecast import Simulation
    from crestline.plan.plan import plan_for_shape
    from crestline.question import Question
    from crestline.randomness.entropy import system

    _print_heading(
        out, "5. The plan", "$ crestline plan -k 20 --epsilon 1 --delta 1e-6 --users 20000     (reads no data)"
    )
    with out.status("Forecasting …"):
        shape = read_shape("power:1", users=USERS, per_user=3.0)
        question = Question.from_fields({"k": 20, "epsilon": 1, "delta": "1e-6", "k_bar": 100})
        plan = plan_for_shape(shape, question, Simulation(system(), 50), users=USERS)
    out.print(plan.advice, markup=False)


def _draw_picture(answer: Answer, path: Path, out: Console, *, kept: bool) -> None:
    _print_heading(out, "6. The picture", "$ crestline top … --plot top.svg")
    if find_spec("altair") is None or find_spec("vl_convert") is None:
        out.print("No picture this time: it needs one more package, pip install 'crestline\\[plot]'.")
        return
    with out.status("Drawing …"):
        answer.plot(path)
    where = (
        f"The picture is {path}" if kept else "Drawn, and gone with the demo's other files; --keep FOLDER keeps them"
    )
    out.print(f"{where}.", markup=False)


def _print_heading(out: Console, title: str, text: str) -> None:
    out.print(f"\n[bold]{title}[/bold]")
    out.print(text, markup=False)


def _read_titles(path: Path) -> set[str]:
    with path.open(encoding="utf-8") as file:
        return {row["title"] for row in csv.DictReader(file)}
