"""`crestline serve`: the HTTP API and the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from crestline.config import Config


def serve(
    config: Annotated[Path, typer.Argument(help="The configuration, a TOML file.")],
    check: Annotated[bool, typer.Option("--check", help="Check the file and everything it names, then end.")] = False,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Processes that share the address and the ledger.", min=1, max=64)] = 1,
) -> None:
    """Serve private top-k to analysts who hold neither the data nor the ledger.

    Example: crestline serve crestline.toml --check
    """
    from crestline.config import load_config

    loaded = load_config(config)
    from crestline.web.service_state import open_state

    open_state(loaded).close()  # report mistakes in the file once, before any worker starts
    if check:
        sizes = (len(loaded.datasets), len(loaded.analysts))
        typer.echo(f"{config} holds: {sizes[0]} data set(s), {sizes[1]} analyst(s)")
        return
    run_service(loaded, host=host, port=port, workers=workers)


def run_service(config: Config, *, host: str, port: int, workers: int) -> None:
    """Serve until the process is ended.

    Raises:
        ParameterError: The packages of the service are not installed.
        SourceError: The service could not be started.
    """
    from crestline.errors import ParameterError, SourceError

    try:
        from crestline.web import server
    except ModuleNotFoundError:
        raise ParameterError("the service needs more packages: pip install 'crestline[service]'") from None
    if not server.serve(config, host=host, port=port, workers=workers):
        raise SourceError("the service could not be started: the lines above say why")
