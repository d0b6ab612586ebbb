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

TOKEN = "CRESTLINE_TOKEN"  # noqa: S105 -- the name of a variable
_HOURS = 24


def mcp(
    service: Annotated[str, typer.Argument(help="The address of a service, or, for owners, its configuration.")],
    analyst: Annotated[
        str | None, typer.Option(help="With a configuration: the analyst of that file who asks and pays.")
    ] = None,
) -> None:
    """Give an assistant tools that ask a service (Model Context Protocol). The token is read from CRESTLINE_TOKEN.

    Example: crestline mcp https://top.example.org
    """
    import anyio

    from crestline.errors import ParameterError

    try:
        from crestline.web.mcp.server import serve_stdio
    except ModuleNotFoundError:
        raise ParameterError("agents need more packages: pip install 'crestline[mcp]'") from None
    with _open_way(service, analyst) as send:
        anyio.run(serve_stdio, send)


@contextmanager
def _open_way(service: str, analyst: str | None) -> Iterator[Send]:
    """The way to the API: through the client, or, for a configuration, in this process."""
    from crestline.errors import ParameterError
    from crestline.web.mcp.server import send_by_client, send_within

    if analyst is None:
        from crestline.client.http import Service

        token = os.environ.get(TOKEN)
        if not token:
            raise ParameterError(f"set {TOKEN} to a token that `crestline token create` printed")
        yield send_by_client(Service.open(service, token))
        return
    from datetime import timedelta

    from crestline.web.app import create_app
    from crestline.web.service_state import open_state
    from crestline.web.settings.reader import load_config
    from crestline.web.utc_clock import utc_now

    config = load_config(Path(service))
    if analyst not in config.analysts:
        raise ParameterError(f"{service} names no analyst {analyst!r}; it names: {', '.join(config.analysts)}")
    state = open_state(config)
    token = state.tokens.create(analyst, utc_now() + timedelta(hours=_HOURS), by="crestline mcp")
    try:
        yield send_within(create_app(state), token)
    finally:
        state.tokens.revoke(token.split("_")[1], by="crestline mcp")
        state.close()
