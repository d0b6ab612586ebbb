"""A newcomer's first minutes, in a virtual environment of their own: install, tour, ask, keep books, pipe.

The dependencies are taken from the environment that runs the tests (they were just installed there); what is new is
the package itself, built as a wheel and installed without its source tree.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment that holds the wheel."""
    folder = tmp_path_factory.mktemp("newcomer")
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    wheel = next(folder.glob("crestline-*.whl"))
    run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], folder)
    own = run([str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], folder).stdout.strip()
    Path(own, "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "env" / "bin"


def run(command: list[str], folder: Path, code: int = 0, **given: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, **given)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_a_newcomers_first_minutes(installed: Path, tmp_path: Path) -> None:
    crestline, python = str(installed / "crestline"), str(installed / "python")
    where = run([python, "-c", "import crestline; print(crestline.__file__)"], tmp_path).stdout
    assert str(installed.parent) in where, "the installed package is used, not the source tree"

    assert "Living with Fabry disease" in run([crestline, "demo"], tmp_path).stdout

    rows = "".join(f"u{n},tea\nu{n},coffee\n" for n in range(800))
    (tmp_path / "drinks.csv").write_text("person,drink\n" + rows)
    ask = [crestline, "top", "drinks.csv", "--user", "person", "--item", "drink", "-k", "2"]
    ask += ["--epsilon", "1", "--delta", "1e-6"]
    first = json.loads(run(ask, tmp_path).stdout)
    assert sorted(first["items"]) == ["coffee", "tea"]

    run([crestline, "ledger", "create", "ledger.db", "--epsilon", "2", "--delta", "1e-5"], tmp_path)
    paid = json.loads(run([*ask, "--ledger", "ledger.db"], tmp_path).stdout)
    again = json.loads(run([*ask, "--ledger", "ledger.db"], tmp_path).stdout)
    assert (paid["stored"], again["stored"]) == (False, True)
    assert paid["items"] == again["items"]
    run([crestline, "ledger", "verify", "ledger.db"], tmp_path)

    absent = run([crestline, "reproduce", "--list"], tmp_path, code=2)
    assert "git clone" in absent.stderr, "the experiments are not in the wheel"

    piped = run([python, "-m", "json.tool"], tmp_path, input=run(ask, tmp_path).stdout)
    assert json.loads(piped.stdout)["question"]["k"] == 2
