"""`crestline mcp`: an assistant's tools over standard input and output, against a real service."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.web.processes import environment, serving, write_service

from crestline.cli.main import EXIT_WRONG, run

TOP = {"name": "top", "arguments": {"dataset": "loans", "k": 2, "item": "item", "epsilon": 1, "delta": "1e-6"}}
MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
    ("tools/list", {}),
    ("tools/call", TOP),
    ("tools/call", TOP),
    ("tools/call", {"name": "top", "arguments": {**TOP["arguments"], "wehre": "country = 'DE'"}}),  # type: ignore[dict-item] # a dict
    ("tools/call", {"name": "top", "arguments": {**TOP["arguments"], "epsilon": 99}}),  # type: ignore[dict-item] # a dict
]


def talk(command: list[str], more: Mapping[str, str]) -> tuple[list[dict[str, Any]], str]:
    """The results of `MESSAGES`, one after the other, and what was written beside them."""
    arguments = [sys.executable, "-m", "crestline", "mcp", *command]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    results = list[dict[str, Any]]()
    with subprocess.Popen(arguments, text=True, env={**environment(), **more}, **pipes) as process:  # type: ignore[call-overload] # pipes
        assert process.stdin is not None
        for number, (method, params) in enumerate(MESSAGES):
            lines = [{"jsonrpc": "2.0", "id": number, "method": method, "params": params}]
            lines += [{"jsonrpc": "2.0", "method": "notifications/initialized"}] if not number else []
            process.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
            process.stdin.flush()
            results.append(json.loads(process.stdout.readline())["result"])
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        return results, process.stderr.read()


def check_results(results: list[dict[str, Any]], errors: str) -> None:
    """What each message must give."""
    hello, tools, first, second, misspelled, dear = results
    assert hello["serverInfo"]["name"] == "crestline"
    assert len(tools["tools"]) == 7
    assert set(first["structuredContent"]["items"]) <= {"Rivers", "Bridges"}
    assert second["structuredContent"]["stored"]
    assert "wehre: no such argument" in misspelled["content"][0]["text"]
    assert "is left" in dear["content"][0]["text"]
    assert errors == ""


@pytest.mark.engines
def test_an_assistant_asks_a_service_through_the_client(tmp_path: Path) -> None:
    tokens = write_service(tmp_path, "ledger.db", 4, 1)
    with serving(tmp_path / "crestline.toml") as (server,):
        check_results(*talk([f"http://127.0.0.1:{server.port}"], {"CRESTLINE_TOKEN": tokens["analyst0"]}))


@pytest.mark.engines
def test_an_owner_serves_tools_from_a_configuration(tmp_path: Path) -> None:
    write_service(tmp_path, "ledger.db", 4, 1)
    check_results(*talk([str(tmp_path / "crestline.toml"), "--analyst", "analyst0"], {}))


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["https://top.example.org"], "set CRESTLINE_TOKEN"),
        (["absent.toml", "--analyst", "ann"], "absent.toml cannot be read"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_served(
    command: list[str], words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRESTLINE_TOKEN", raising=False)
    assert run(["mcp", *command]) == EXIT_WRONG
    assert words in capfd.readouterr().err
