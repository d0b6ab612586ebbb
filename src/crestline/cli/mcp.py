"""`crestline mcp`: tools for an assistant, over standard input and output."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from crestline.web.mcp.tools import Send


def mcp(
    service: Annotated[str, typer.Argument(help="The address of a service, or, for owners, its configuration.")],
    analyst: Annotated[str | None, typer.Option(help="With a configuration: the analyst who asks and pays.")] = None,
) -> None:
    """Give an assistant tools that ask a service (Model Context Protocol). The token is read from CRESTLINE_TOKEN.

    Example: crestline mcp https://top.example.org
    """
    from crestline.client.http import Service
    from crestline.errors import ParameterError

    try:
        import anyio

        from crestline.web.mcp.server import send_by_client, serve_stdio
    except ModuleNotFoundError:
        raise ParameterError("assistants need more packages: pip install 'crestline[mcp]'") from None
    if analyst is not None:
        with _service_here(Path(service), analyst) as send:
            anyio.run(serve_stdio, send)
        return
    token = os.environ.get("CRESTLINE_TOKEN")
    if not token:
        raise ParameterError("set CRESTLINE_TOKEN to a token that `crestline token create` printed")
    anyio.run(serve_stdio, send_by_client(Service.open(service, token)))


@contextmanager
def _service_here(file: Path, analyst: str) -> Iterator[Send]:
    """The way to the API of a configuration in this process, with a token that ends with it."""
    from crestline.cli.token import new_token
    from crestline.config import load_config
    from crestline.web.app import create_app
    from crestline.web.mcp.server import send_within
    from crestline.web.service_state import open_state

    state = open_state(load_config(file))
    token = new_token(file, analyst, "1d")
    try:
        yield send_within(create_app(state), f"Bearer {token}")
    finally:
        state.tokens.revoke(token.split("_")[1])
        state.close()
