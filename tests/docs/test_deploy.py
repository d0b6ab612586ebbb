"""The files under deploy/: every command and option in them exists, and every file that they name.

No engine builds them here; what is parsed is what a container or systemd would run.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.docs.test_service_pages import DEPLOY, fences
from tests.patience import PATIENCE
from tests.web.conftest import CONFIG, write_loans

from crestline.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy"
INSTRUCTIONS = {
    *("FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
}


def instructions() -> list[tuple[str, str]]:
    text = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def checked(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command of crestline as a file spells it, on a configuration of the test, with --check instead of serving."""
    write_loans(folder / "loans.csv")
    (folder / "crestline.toml").write_text(CONFIG)
    local = [argument.replace("/etc/crestline", str(folder)) for argument in arguments]
    assert run([*local, *([] if "--check" in local else ["--check"])]) == 0, capsys.readouterr().err


@pytest.mark.long
def test_the_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = instructions()
    assert {name for name, _ in found} <= INSTRUCTIONS
    parts = dict(found)  # of the second stage: the last of each
    assert parts["USER"] == "crestline"
    command = json.loads(parts["ENTRYPOINT"]) + json.loads(parts["CMD"])
    assert command[0] == "crestline"
    checked(command[1:], tmp_path, capsys)
    (extras,) = re.findall(r"/src\[([a-z,]+)\]", parts["RUN"] + " ".join(value for _, value in found))
    import tomllib

    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)
    assert parts["EXPOSE"] in command
    probe = json.loads(parts["HEALTHCHECK"].partition("CMD")[2])
    compile(probe[2], "probe", "exec")
    assert f":{parts['EXPOSE']}/readyz" in probe[2]


def test_the_compose_file() -> None:
    compose: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert set(compose) == {"services", "secrets", "volumes"}
    service = compose["services"]["crestline"]
    assert (FOLDER / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == FOLDER / "Dockerfile"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert set(service["depends_on"]) <= set(compose["services"])
    used = [
        one if isinstance(one, str) else one["source"]
        for part in compose["services"].values()
        for one in part["secrets"]
    ]
    assert set(used) == set(compose["secrets"])
    assert service["environment"]["PGPASSFILE"].rpartition("/")[2] in compose["secrets"]
    ignored = [ROOT / name for name in (ROOT / ".gitignore").read_text().split() if name.startswith("deploy")]
    for secret in compose["secrets"].values():
        assert any((FOLDER / secret["file"]).is_relative_to(folder) for folder in ignored)


@pytest.mark.long
def test_the_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (FOLDER / "crestline.service").read_text()
    assert fences(DEPLOY, "ini") == [text]  # the page shows the file; `test_service_pages` lets systemd check it
    commands = re.findall(r"^Exec\w+=(.*)$", text, re.MULTILINE)
    own = [shlex.split(command)[1:] for command in commands if "/bin/crestline" in command]
    assert len(own) == 2
    for number, arguments in enumerate(own):
        folder = tmp_path / str(number)
        folder.mkdir()
        checked(arguments, folder, capsys)


@pytest.mark.engines
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_a_misspelled_unit_is_noticed(tmp_path: Path) -> None:
    unit = tmp_path / "crestline.service"
    text = (FOLDER / "crestline.service").read_text().replace("/opt/crestline/bin/crestline", sys.executable)
    unit.write_text(text.replace("ProtectSystem=", "ProtectSystems="))
    told = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert "ProtectSystems" in told.stderr
