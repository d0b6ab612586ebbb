"""Options that several commands for analysts take, each with the same words."""

from __future__ import annotations

from typing import Annotated

import typer

MechanismOption = Annotated[str, typer.Option(help="A name from `crestline mechanisms`, or auto.")]
KBarOption = Annotated[int | None, typer.Option(help="How many items the mechanism may see.")]
ContributionOption = Annotated[int | None, typer.Option(help="Count at most this many items of each user.")]
CountsOption = Annotated[bool, typer.Option("--counts", help="Also publish a noisy count for each item.")]
TableOption = Annotated[str | None, typer.Option(help="The table, when the source is a database URL.")]
DatasetOption = Annotated[str | None, typer.Option(help="The data set in the ledger, where there are several.")]
