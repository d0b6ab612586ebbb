"""`crestline token`: the tokens of analysts of the service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli.output import Format, FormatOption, operator_name, print_rows

if TYPE_CHECKING:
    from crestline.access.tokens import Tokens
    from crestline.config import Config

NEVER = "never"

token_app = typer.Typer(help="Tokens of the service: make one, list them, end one.", no_args_is_help=True)

ConfigFile = Annotated[Path, typer.Argument(help="The configuration of the service.")]


@token_app.command()
def create(
    config: ConfigFile,
    analyst: Annotated[str, typer.Argument(help="An analyst named in the configuration.")],
    expires: Annotated[
        str, typer.Option(help="The token ends by itself after so long: 12h, 90d, 8w, or never.")
    ] = "90d",
) -> None:
    """Create a token and print it, this once. It is signed, and not stored.

    Example: crestline token create crestline.toml ann --expires 90d
    """
    typer.echo(new_token(config, analyst, expires))
    typer.echo("Keep it now: it is not shown again.", err=True)


def new_token(path: Path, analyst: str, expires: str) -> str:
    """A token for an analyst of a configuration, which is the only time it can be seen.

    Raises:
        ParameterError: There is no such analyst, or `expires` is no time.
    """
    from crestline.access.expiry import expiry_time
    from crestline.errors import ParameterError
    from crestline.ledger.receipt import utc_now

    end = None if expires == NEVER else expiry_time(expires, utc_now())
    with _tokens(path) as (loaded, tokens):
        if analyst not in loaded.analysts:
            known = ", ".join(loaded.analysts)
            raise ParameterError(f"{path} names no analyst {analyst!r}; it names: {known}")
        return tokens.create(analyst, end, by=operator_name())


@token_app.command("list")
def list_tokens(
    config: ConfigFile,
    form: FormatOption = Format.AUTO,
) -> None:
    """List all tokens by number. The tokens themselves cannot be shown."""
    with _tokens(config) as (_, tokens):
        rows = [vars(token) for token in tokens.list_tokens()]
    columns = {"id": "number", "analyst": "analyst", "created": "created", "revoked": "revoked", "expires": "expires"}
    print_rows(columns, rows, form)


@token_app.command()
def revoke(
    config: ConfigFile, number: Annotated[str, typer.Argument(help="The token's number, from `crestline token list`.")]
) -> None:
    """Revoke a token, immediately and permanently."""
    with _tokens(config) as (_, tokens):
        tokens.revoke(number, by=operator_name())
    typer.echo(f"token {number} is revoked")


@token_app.command()
def rotate(config: ConfigFile) -> None:
    """Put a new key in place of the one that signs tokens and sessions; the one before is accepted until the next time.

    So hand out new tokens, and rotate again: then no token of the old key holds. Copy the key file to every server, and
    let each read it (`systemctl reload`, or SIGHUP).

    Example: crestline token rotate crestline.toml
    """
    from crestline.access.keys import Keys
    from crestline.config import load_config

    path = load_config(config).key_file
    Keys.rotate(path)
    typer.echo(f"{path} has a new key; let every server read it")


@contextmanager
def _tokens(path: Path) -> Iterator[tuple[Config, Tokens]]:
    """The configuration and its tokens, which are stored with the ledger; creates the ledger if there is none."""
    from crestline.access.keys import Keys
    from crestline.access.tokens import Tokens
    from crestline.config import load_config
    from crestline.serving import open_store

    config = load_config(path)
    store = open_store(config)
    try:
        yield config, Tokens(store, Keys.read_or_create(config.key_file, store))
    finally:
        store.close()
