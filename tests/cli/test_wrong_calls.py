"""Ten wrong calls of each command: each is answered by one sentence, that says what is wrong or what to write.

`wrong_calls.txt` holds a call on one line and its exit code and sentence on the next.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from crestline.cli.main import COMMANDS, GROUPS, run

CONFIG = """ledger = "l.db"
[datasets.a]
source = "sales.parquet"
user = "{}"
items = ["sku"]
budget = {{ epsilon = 2, delta = 1e-8 }}
[analysts.ann]
role = "owner"
"""
FILES = {
    "loans.csv": "reader,title\nr1,Rivers\n",
    "questions.jsonl": '{"k": 10, "item": "sku", "epsilon": 1, "delta": "1e-8"}\n',
    "misspelt.jsonl": '{"k": 10, "itm": "sku"}\n',
    "words.jsonl": "hello\n",
    "words.toml": "hello",
    "crestline.toml": CONFIG.format("customer_id"),
    "wrong_user.toml": CONFIG.format("customer"),
}
LINES = [line for line in Path(__file__).with_name("wrong_calls.txt").read_text().splitlines() if line]
CALLS = list(zip(LINES[::2], LINES[1::2], strict=True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"customer_id": [1, 2], "sku": ["a", "b"]}), "sales.parquet")
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("excel.csv").write_bytes("reader,title\nr1,Rivers\n".encode("utf-16"))
    assert run(["ledger", "create", "ledger.db", "--epsilon", "2", "--delta", "1e-7"]) == 0
    return tmp_path


def test_every_command_has_ten() -> None:
    first = [call.split()[0] for call, _ in CALLS]
    fewer = {"mechanisms": 3, "sources": 3, "demo": 3, "reproduce": 0, "mcp": 1}  # they take next to nothing
    assert {name for name in (*COMMANDS, *GROUPS) if first.count(name) < fewer.get(name, 10)} == set()


@pytest.mark.long
@pytest.mark.parametrize("command", [name for name in (*COMMANDS, *GROUPS) if name != "reproduce"])
def test_a_wrong_call_gets_one_sentence(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for call, expected in CALLS:
        if call.split()[0] == command:
            capsys.readouterr()
            code = run(shlex.split(call))
            said = capsys.readouterr().err.strip()
            ours = said.rpartition("; ")[2] if "; write, for example: " in said or "; see " in said else said
            assert (code, ours) == (int(expected[0]), expected[2:]), call  # the rest is Typer's, in its versions' words
            assert code in (2, 3, 4)
            assert "internal error" not in said
