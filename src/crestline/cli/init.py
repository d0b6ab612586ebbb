"""`crestline init`: a service for one table, from a few questions to the first page."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import ceil, log10
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from crestline.cli.options import TableOption
from crestline.cli.output import echo_lines
from crestline.cli.serve import run_service
from crestline.cli.token import new_token

if TYPE_CHECKING:
    from crestline.sources.column_uses import ColumnUses
    from crestline.sources.source import SlotSource

MOST_ITEMS = 5  # columns that are offered unless others are named
ADVICE = (
    "The budget bounds what all answers together may reveal of any one user, for good. epsilon 1 is strict, 2 is "
    "usual, 4 is loose; delta must be far below 1 divided by the number of users. A question usually takes a tenth."
)


Ask: TypeAlias = Callable[[str, str | None, str], str]  # question, default, and what is said to be missing


@dataclass(frozen=True)
class Setup:
    """What the configuration is written from."""

    source: str
    table: str | None
    user: str
    items: Sequence[str]
    epsilon: str
    delta: str
    per: str | None
    time: str | None
    users: int | None
    uses: Sequence[ColumnUses]


def init(
    source: Annotated[str | None, typer.Argument(help="A file, folder, glob or database URL.")] = None,
    table: TableOption = None,
    user: Annotated[str | None, typer.Option(help="The column that holds the user, whose presence is hidden.")] = None,
    item: Annotated[list[str] | None, typer.Option(help="A column that may be ranked; repeat it for several.")] = None,
    epsilon: Annotated[str, typer.Option(help="The ε of all answers together.")] = "",
    delta: Annotated[str, typer.Option(help="The δ of all answers together.")] = "",
    per: Annotated[
        str | None, typer.Option(help="A budget for each day, week, month, quarter or year; with --time.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="The column that says when a row happened.")] = None,
    users: Annotated[
        int | None, typer.Option(help="How many users there are, roughly, if that is public.", min=1)
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where crestline.toml and the ledger are written.")] = Path(),
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: take the defaults for what is not given.")] = False,
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Start the service at the end.")] = True,
    port: Annotated[int, typer.Option(help="The port to listen at.", min=0, max=65535)] = 8000,
) -> None:
    """Set up a service for one table: write crestline.toml, open its ledger, make the owner's token, start it.

    Only the schema of the table is read, no row.

    Example: crestline init sales.parquet --user customer_id --yes
    """
    from crestline.config import load_config
    from crestline.errors import ParameterError
    from crestline.ledger.budget import Budget
    from crestline.sources import open_source
    from crestline.sources.open import needs_table
    from crestline.web.service_state import open_state

    def ask(question: str, default: str | None, option: str) -> str:
        if not yes:
            return str(typer.prompt(question, default=default))
        if default is None:
            raise ParameterError(f"nothing says {option}: write it, for example: crestline init {_EXAMPLES[option]}")
        return default

    path = folder / "crestline.toml"
    if path.exists():
        raise ParameterError(f"{path} is there already: edit it, or name another --folder")
    address = source or ask("Which data? A file, folder, glob or database URL", None, "which data")
    if table is None and needs_table(address):
        table = ask("Which table of the database?", None, "which table")
    opened = open_source(address, table=table)
    user, items, uses = _choose_columns(opened, user, item, ask)
    if not yes:
        echo_lines(ADVICE)
    epsilon = epsilon or ask("epsilon of all answers together", "2", "epsilon")
    delta = delta or ask("delta of all answers together", _usual_delta(users), "delta")
    time = time or next((one.name for one in uses if one.period and _is_measure(one)), None)
    Budget(epsilon=epsilon, delta=delta, per=per, time=time if per else None)  # refused before anything is written
    setup = Setup(address, table, user, items, epsilon, delta, per, time, users, uses)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(configuration(setup, folder), encoding="utf-8")
    try:
        loaded = load_config(path)
        open_state(loaded).close()
    except Exception:
        path.unlink()  # what cannot be opened is not left behind
        raise
    token = new_token(path, "owner", "90d")
    echo_lines(f"Wrote {path}, opened its ledger.", f"The owner's token, shown this once, for 90 days: {token}")
    if not serve:
        echo_lines(f"Start it: crestline serve {path}")
        return
    echo_lines(f"Sign in with the token: http://127.0.0.1:{port} (Ctrl-C ends the service)")
    run_service(loaded, host="127.0.0.1", port=port, workers=1)


_EXAMPLES = {
    "which data": "sales.parquet --user customer_id --yes",
    "which table": "shop.duckdb --table sales --yes",
    "which column holds the user": "sales.parquet --user customer_id --yes",
    "which columns may be ranked": "sales.csv --user customer_id --item sku --yes",
}


def _choose_columns(
    opened: SlotSource, user: str | None, items: list[str] | None, ask: Ask
) -> tuple[str, list[str], Sequence[ColumnUses]]:
    """The user's column, the columns that may be ranked, and what every column can be used for."""
    from crestline.sources.column_uses import column_names, column_uses, likely_user

    names = column_names(opened)
    if names:
        echo_lines(f"Columns: {', '.join(names)}")
    user = user or ask(
        "Which column holds the user, whose presence is hidden?", likely_user(names), "which column holds the user"
    )
    uses = column_uses(opened, names or [user, *(items or ())])
    others = [one.name for one in uses if one.key and one.name != user and not _is_measure(one)]
    offered = ", ".join(others[:MOST_ITEMS]) or None
    items = items or _split(ask("Which columns may be ranked?", offered, "which columns may be ranked"))
    column_uses(opened, [user, *items])  # refuses a column that is not there
    return user, items, uses


def configuration(setup: Setup, folder: Path) -> str:
    """The text of a commented configuration."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", setup.table or Path(setup.source).stem).strip("-_")[:64] or "data"
    source = (
        setup.source if "://" in setup.source else os.path.relpath(Path(setup.source).absolute(), folder.absolute())
    )
    others = [one for one in setup.uses if one.name != setup.user]
    template = Template(files("crestline.cli").joinpath("crestline.toml").read_text(encoding="utf-8"))
    return template.substitute(
        name=name,
        source=_toml(source),
        table=f"table = {_toml(setup.table)}\n" if setup.table else "",
        user=_toml(setup.user),
        items=_toml(setup.items),
        item=_toml(setup.items[0]),
        filters=_toml([one.name for one in others if one.filter]),
        sums=_toml([one.name for one in others if one.sum and one.name not in setup.items][:3]),
        title=_toml(re.sub("[-_]", " ", name).capitalize()),
        public=f"public = {{ users = {setup.users} }}    # roughly: forecasts start from it\n" if setup.users else "",
        time=_toml(setup.time or "day"),
        epsilon=_number(setup.epsilon),
        delta=_number(setup.delta),
        per=f", per = {_toml(setup.per)}, time = {_toml(setup.time or '')}" if setup.per else "",
    )


def _toml(value: str | Sequence[str]) -> str:
    """A text, or a list of texts, as TOML: its strings are those of JSON."""
    return json.dumps(value if isinstance(value, str) else list(value), ensure_ascii=False)


def _number(text: str) -> str:
    """A number as TOML: as it is written, or, if it is a fraction, as text."""
    return text if re.fullmatch(r"\d+(\.\d+)?(e[+-]?\d+)?", text) else _toml(text)


def _usual_delta(users: int | None) -> str:
    """A δ a hundred times smaller than one divided by the number of users, which is a million where it is unknown."""
    return f"1e-{2 + ceil(log10(users or 10**6))}"


def _is_measure(column: ColumnUses) -> bool:
    """Whether a column measures or dates rows: it can be ranked, and seldom should be."""
    return column.type.startswith(("float", "decimal", "date", "timestamp"))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
