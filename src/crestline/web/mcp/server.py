"""The MCP server of the tools: over stdio for one analyst, and at `/mcp` of the service for each caller's token."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
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
from crestline.web.mcp.tools import INSTRUCTIONS, LABELS, TOOLS, Body, Send, Tool, call_tool, read_answer
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
        found = await call_tool(params.name, params.arguments or {}, send_for(context.request))
        text = types.TextContent(type="text", text=found.text)
        return types.CallToolResult(content=[text], structured_content=found.content, is_error=found.content is None)

    async def list_resources(context: Context, params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def list_templates(context: Context, params: object) -> types.ListResourceTemplatesResult:
        answers = types.ResourceTemplate(
            name="answer",
            uri_template=ANSWERS + "{id}",
            description=f"An answer that was paid for, by its id. {LABELS}",
            mime_type="application/json",
        )
        return types.ListResourceTemplatesResult(resource_templates=[answers])

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        number = str(params.uri).removeprefix(ANSWERS)
        text = (await read_answer(int(number[:18]) if number.isdecimal() else 0, send_for(context.request))).text
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
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=not tool.charges,
        destructive_hint=False,
        idempotent_hint=True,  # the same question is paid once
        open_world_hint=False,
    )
    return types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(),
        annotations=hints,
    )


async def serve_stdio(send: Send) -> None:
    """Serve one analyst over standard input and output until the input ends."""
    server = build_server(lambda request: send)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def send_by_client(service: Service) -> Send:
    """The way to a service elsewhere, through the client, which sends a request again whose answer was lost."""

    async def send(method: str, path: str, body: Body | None) -> Response:
        return await anyio.to_thread.run_sync(service.send, method, path, body)

    return send


def send_within(app: ASGIApp, token: str) -> Send:
    """The way to the API of the service in this process, with the permissions of a token."""

    async def send(method: str, path: str, body: Body | None) -> Response:
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": new_key()} if method == "POST" else {})
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=None) as http:  # noqa: S113 -- the service has its own
            found = await http.request(method, path, json=body, headers=headers)
        return read_response(found.status_code, found.content, found.headers.get("retry-after"))

    return send


class AgentEndpoint:
    """`/mcp`: streamable HTTP without sessions, for callers with a token of the service."""

    def __init__(self, app: FastAPI, hosts: Sequence[str]) -> None:
        names = [*THIS_MACHINE, *hosts]
        self._app = app
        self._hosts = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
            allowed_origins=[f"https://{name}" for name in hosts],
        )
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests while this context is open."""

        def send_for(request: Request | None) -> Send:
            return send_within(self._app, "" if request is None else token_of(request.scope))

        server = build_server(send_for)
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, security_settings=self._hosts
        )
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: AsgiSend) -> None:
        holder = await run_in_threadpool(self._app.state.service.tokens.find_holder, token_of(scope))
        if holder is None:
            raise forbidden_problem()
        scope["state"]["analyst"] = holder[1]
        assert self._manager is not None, "requests come while the service runs"
        await self._manager.handle_request(scope, receive, send)


def token_of(scope: Scope) -> str:
    """The bearer token of a request; empty without one."""
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
    kind, _, token = values[0].partition(" ") if values else ("", "", "")
    return token.strip() if kind.lower() == "bearer" else ""
