"""The MCP server of the tools: over stdio for one analyst, and at `/mcp` of the service for each caller's token."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio
import httpx
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope
from starlette.types import Send as AsgiSend

from crestline import __version__
from crestline.client.http import Response, Service, new_key, read_response
from crestline.web.mcp.tools import ANSWER, INSTRUCTIONS, LABELS, TOOLS, Body, Send, Tool, run_tool
from crestline.web.problems import forbidden_problem

if TYPE_CHECKING:
    from fastapi import FastAPI

Context: TypeAlias = ServerRequestContext[object, Request]

ANSWERS = "crestline://answers/"
THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")


def build_server(send_for: Callable[[Request | None], Send]) -> Server[object]:
    """The MCP server; `send_for` gives the way to the API for the HTTP request that a call came with, if any."""

    async def list_tools(context: Context, params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name, tool) for name, tool in TOOLS.items()])

    async def call(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        said, body = f"There is no tool {params.name!r}; there are: {', '.join(TOOLS)}.", None
        if tool is not None:
            said, body = await run_tool(tool, params.arguments or {}, send_for(context.request))
        text = types.TextContent(type="text", text=said)
        return types.CallToolResult(content=[text], structured_content=body, is_error=body is None)

    async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def list_templates(context: Context, params: object) -> types.ListResourceTemplatesResult:
        about = f"{ANSWER.description} {LABELS}"
        template = types.ResourceTemplate(
            name="answer", uri_template=ANSWERS + "{id}", description=about, mime_type="application/json"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        number = str(params.uri).removeprefix(ANSWERS)
        given = {"id": int(number[:18]) if number.isdecimal() else -1}
        text, _ = await run_tool(ANSWER, given, send_for(context.request))
        shown = types.TextResourceContents(uri=params.uri, text=text, mime_type="application/json")
        return types.ReadResourceResult(contents=[shown])

    server: Server[object] = Server(
        "crestline",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
    )
    server.middleware.clear()  # of traces, which would have questions in them
    logger = logging.getLogger("mcp")  # its lines would quote requests
    logger.propagate, logger.handlers = False, [logging.NullHandler()]
    return server


def _tool(name: str, tool: Tool) -> types.Tool:
    """A tool as a client sees it. The same question is paid once, so that calls may be repeated."""
    hints = types.ToolAnnotations(
        read_only_hint=not tool.charges, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    takes, gives = tool.arguments.model_json_schema(), tool.result.model_json_schema()
    return types.Tool(
        name=name, description=tool.description, input_schema=takes, output_schema=gives, annotations=hints
    )


async def serve_stdio(send: Send) -> None:
    """Serve one analyst over standard input and output until the input ends."""
    server = build_server(lambda request: send)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def send_by_client(service: Service) -> Send:
    """The way to a service elsewhere, through the client, which sends a request again whose answer was lost."""
    return lambda method, path, body: anyio.to_thread.run_sync(service.send, method, path, body)


def send_within(app: ASGIApp, authorization: str) -> Send:
    """The way to the API of the service in this process, with the permissions of a header."""

    async def send(method: str, path: str, body: Body | None) -> Response:
        headers = {"Authorization": authorization} | ({"Idempotency-Key": new_key()} if method == "POST" else {})
        within = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=within, base_url="http://127.0.0.1", timeout=None) as http:  # noqa: S113 -- the service has its own
            found = await http.request(method, path, json=body, headers=headers)
        return read_response(found.status_code, found.content, found.headers.get("retry-after"))

    return send


class AgentEndpoint:
    """`/mcp`: streamable HTTP without sessions, for callers with a token of the service."""

    def __init__(self, app: FastAPI, hosts: Sequence[str]) -> None:
        names = [*THIS_MACHINE, *hosts]
        allowed = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
            allowed_origins=[f"https://{name}" for name in hosts],
        )
        self._app = app
        self._server = build_server(lambda request: send_within(app, _authorization(request)))
        self._open = partial(
            StreamableHTTPSessionManager, self._server, json_response=True, stateless=True, security_settings=allowed
        )
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests while this context is open."""
        self._manager = self._open()
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: AsgiSend) -> None:
        kind, _, token = _authorization(Request(scope)).partition(" ")
        found = await run_in_threadpool(self._app.state.service.tokens.find_holder, token.strip())
        if found is None or kind.lower() != "bearer":
            raise forbidden_problem()
        scope["state"]["analyst"] = found[1]
        assert self._manager is not None, "requests come while the service runs"
        await self._manager.handle_request(scope, receive, send)


def _authorization(request: Request | None) -> str:
    return "" if request is None else request.headers.get("authorization", "")
