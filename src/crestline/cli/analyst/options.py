"""Options that several commands of analysts share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MechanismOption = Annotated[str, typer.Option(help="A name from `crestline mechanisms`, or auto.")]
KBarOption = Annotated[int | None, typer.Option(help="How many items the mechanism may see.")]
ContributionOption = Annotated[int | None, typer.Option(help="Count at most this many items of each user.")]
CountsOption = Annotated[bool, typer.Option("--counts", help="Also publish a noisy count for each item.")]
TableOption = Annotated[str | None, typer.Option(help="The table, when the source is a database URL.")]
DatasetOption = Annotated[str | None, typer.Option(help="The data set in the ledger, where there are several.")]
S3EndpointOption = Annotated[
    str | None, typer.Option("--s3-endpoint", help="A store that speaks S3 and is not Amazon's: https://host:9000.")
]
S3RegionOption = Annotated[str | None, typer.Option("--s3-region", help="The region of the store.")]
S3CredentialsOption = Annotated[
    Path | None,
    typer.Option(
        "--s3-credentials",
        help="A file like ~/.aws/credentials with key and secret for s3://; those of the environment unless given.",
    ),
]
S3AnonymousOption = Annotated[bool, typer.Option("--s3-anonymous", help="Read a public bucket, without credentials.")]
