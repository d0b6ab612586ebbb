"""`crestline demo`: a guided tour on a data set made on the spot."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.demo_data import LONELY_READER, LONELY_TITLE, USERS, write_loans
from crestline.cli.output import Format, console
from crestline.cli.top import print_answer

if TYPE_CHECKING:
    from rich.console import Console


def demo(
    keep: Annotated[Path | None, typer.Option(help="Keep the demo's data in this folder.")] = None,
) -> None:
    """A guided tour: a leak, the private answer, and what it means. Needs nothing but this package."""
    out = console()
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        _tour(keep, out)
        return
    with tempfile.TemporaryDirectory(prefix="crestline-demo-") as folder:
        _tour(Path(folder), out)


def _tour(folder: Path, out: Console) -> None:
    loans, smaller = folder / "loans.csv", folder / "loans_without_one_reader.csv"
    with out.status("Inventing a library's loans …"):
        write_loans(loans)
        write_loans(smaller, without=LONELY_READER)
    _title(
        out,
        "1. The data",
        f"{USERS:,} invented readers and what they borrowed: {loans.name}, columns reader and title.",
    )
    _leak(loans, smaller, out)
    _private(loans, out)
    _next_steps(folder, out)


def _leak(loans: Path, smaller: Path, out: Console) -> None:
    before, after = _all_titles(loans), _all_titles(smaller)
    gone = sorted(before - after)
    _title(
        out,
        "2. The leak",
        "A plain `count … group by title` is asked twice: with everybody, and after one reader has left. Comparing the "
        f"two lists shows what that reader had borrowed, and nobody else: {', '.join(map(repr, gone))}.",
    )
    assert gone == [LONELY_TITLE], "the invented data hold one title that only one reader has"


def _private(loans: Path, out: Console) -> None:
    from crestline.api import top_k

    _title(
        out,
        "3. The private answer",
        "$ crestline top loans.csv --user reader --item title -k 10 --epsilon 1 --delta 1e-6",
    )
    answer = top_k(loans, user="reader", item="title", k=10, epsilon=1, delta="1e-6")
    print_answer(answer, Format.TABLE)
    out.print(
        "\nAsk again and it may differ a little: that uncertainty is what protects the reader above. "
        "Their title can practically never be named.",
    )


def _next_steps(folder: Path, out: Console) -> None:
    _title(out, "4. Now yours", "$ crestline top FILE --user COLUMN --item COLUMN -k 20 --epsilon 1 --delta 1e-8")
    out.print("$ crestline mechanisms        what can be run, and what each promises")
    out.print("$ crestline --help            everything else")


def _title(out: Console, head: str, text: str) -> None:
    out.print(f"\n[bold]{head}[/bold]")
    out.print(text, markup=False)


def _all_titles(path: Path) -> set[Any]:
    import csv

    with path.open(encoding="utf-8") as file:
        return {row["title"] for row in csv.DictReader(file)}
