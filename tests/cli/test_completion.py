"""Shell completion, as bash, zsh and fish ask for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.patience import PATIENCE

pytestmark = pytest.mark.engines

# What each shell sets when the words so far are `crestline top --sc`, and when they are `crestline pl`.
ASKED = {
    "bash": [
        {"COMP_WORDS": "crestline top --sc", "COMP_CWORD": "2"},
        {"COMP_WORDS": "crestline pl", "COMP_CWORD": "1"},
    ],
    "zsh": [{"_TYPER_COMPLETE_ARGS": "crestline top --sc"}, {"_TYPER_COMPLETE_ARGS": "crestline pl"}],
    "fish": [
        {"_TYPER_COMPLETE_ARGS": f"crestline {words}", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
        for words in ("top --sc", "pl")
    ],
}


def crestline(*arguments: str, **environment: str) -> str:
    command = [sys.executable, "-c", "from crestline.cli.main import main; main()", *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=PATIENCE
    ).stdout


@pytest.mark.parametrize("shell", ASKED)
def test_options_and_commands_are_completed(shell: str) -> None:
    option, command = (crestline(_CRESTLINE_COMPLETE=f"complete_{shell}", **asked) for asked in ASKED[shell])
    assert "--score" in option
    assert "--epsilon" not in option
    assert "plan" in command
    assert "price" not in command


@pytest.mark.parametrize("shell", ASKED)
def test_the_script_of_a_shell_is_shown(shell: str) -> None:
    script = crestline(_CRESTLINE_COMPLETE=f"source_{shell}")
    assert "_CRESTLINE_COMPLETE" in script
    assert f"complete_{shell}" in script


def test_completion_can_be_asked_for_by_option() -> None:
    shown = crestline("--help")
    assert "--install-completion" in shown
    assert "--show-completion" in shown
