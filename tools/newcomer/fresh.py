"""A fresh virtual environment that holds the wheel of this checkout.

Its dependencies are those of the environment that runs this (they were just installed there); what is new is the
package itself, built as a wheel and installed without its source tree.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tools.newcomer.pages import ROOT


def environment(folder: Path) -> Path:
    """The `bin` folder of a fresh environment, made in this folder."""
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    wheel = next(folder.glob("crestline-*.whl"))
    run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], folder)
    own = run([str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], folder).stdout.strip()
    Path(own, "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "env" / "bin"


def run(
    command: list[str], folder: Path, *, text: str | None = None, programs: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder without the source tree on its path, and fail with its words."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if programs is not None:
        given["PATH"] = f"{programs}{os.pathsep}{given['PATH']}"
    done = subprocess.run(command, cwd=folder, env=given, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done
