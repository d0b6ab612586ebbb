"""Compare the ceilings of this commit with those of the commit before."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = "tools/house/__main__.py"


def raised_without_reason(before: str, now: str) -> list[str]:
    """Names of figures whose ceiling is higher than before although their reason is empty or the same as before."""
    earlier, found = _ceilings(before), []
    for name, (ceiling, reason) in _ceilings(now).items():
        old_ceiling, old_reason = earlier.get(name, (ceiling, reason))
        if ceiling > old_ceiling and reason in ("", old_reason):
            found.append(name)
    return found


def previous_text(root: Path = ROOT) -> str:
    """The table of figures before the current change; empty where git has none.

    It is that of the last commit, or of its first parent if the last commit has the same table as the work tree.
    """
    last = _committed_text(root, "HEAD")
    return last if last != (root / TABLE).read_text(encoding="utf-8") else _committed_text(root, "HEAD^")


def _committed_text(root: Path, commit: str) -> str:
    command = ["git", "-C", str(root), "show", f"{commit}:{TABLE}"]
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, no commit, or a copy without history
        return ""


def _ceilings(text: str) -> dict[str, tuple[float, str]]:
    """Larger of ceiling and goal, and reason, of every `Figure(name, count, ceiling, goal, reason=...)` in a module."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return {
        ast.literal_eval(call.args[0]): (
            max(ast.literal_eval(call.args[2]), ast.literal_eval(call.args[3])),
            next((ast.literal_eval(word.value) for word in call.keywords if word.arg == "reason"), ""),
        )
        for call in calls
        if ast.unparse(call.func) == "Figure"
    }
