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
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from tests.docs.test_service_pages import DEPLOY, fences
from tests.patience import PATIENCE
from tests.web.conftest import CONFIG, write_loans

from crestline.cli.main import run
from crestline.web.metrics import HELP, Metrics

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy"
INSTRUCTIONS = {
    *(
        "ARG",
        "FROM",
        "COPY",
        "RUN",
        "ENV",
        "USER",
        "WORKDIR",
        "EXPOSE",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    ),
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
    assert parts["EXPOSE"] in command
    probe = json.loads(parts["HEALTHCHECK"].partition("CMD")[2])
    compile(probe[2], "probe", "exec")
    assert f":{parts['EXPOSE']}/readyz" in probe[2]


def test_the_packages_of_the_image_are_named_with_hashes_and_satisfy_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    text = (ROOT / "constraints" / "image.txt").read_text()
    locked = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?==([\d.]+)", text, re.MULTILINE))
    assert text.count("--hash=sha256:") >= len(locked)
    for stated in (*project["dependencies"], *extras["service"], *extras["postgres"]):
        requirement = Requirement(stated)
        assert requirement.specifier.contains(locked[requirement.name]), stated
    for name in re.findall(r"constraints/([\w.-]+)", (FOLDER / "Dockerfile").read_text()):
        assert (ROOT / "constraints" / name).exists()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)")
@pytest.mark.engines
def test_the_rules_alert_when_they_must_and_not_otherwise() -> None:
    for arguments in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts.test.yaml"]):
        told = subprocess.run(
            ["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert told.returncode == 0, told.stdout + told.stderr


def test_the_rules_name_metrics_that_there_are() -> None:
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
    (group,) = rules["groups"]
    families = [family.name for family in Metrics().metric_families.registry.collect()]
    known = {f"crestline_{name}" for name in HELP} | {f"{name}_total" for name in families}
    known |= {f"{name}_count" for name in families} | {"crestline_budget_left_ratio"}
    named = {name for rule in group["rules"] for name in re.findall(r"\bcrestline_[a-z_]+[a-z]", rule["expr"])}
    assert named <= known | {"crestline_"}, named - known
    tested = (FOLDER / "alerts.test.yaml").read_text()
    assert all(tested.count(f"alertname: {rule['alert']}") == 2 for rule in group["rules"])


def test_the_compose_file() -> None:
    compose: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    assert set(compose) == {"x-crestline", "services", "secrets", "volumes"}
    assert all({"mem_limit", "cpus", "pids_limit"} <= set(part) for part in compose["services"].values())
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
    assert all(f"crestline{name}" in text for name in ("", "-witness", "-reports"))
    commands = re.findall(r"^Exec\w+=(.*)$", text, re.MULTILINE)
    own = [shlex.split(command)[1:] for command in commands if "/bin/crestline" in command]
    assert len(own) == 2
    for number, arguments in enumerate(own):
        folder = tmp_path / str(number)
        folder.mkdir()
        checked(arguments, folder, capsys)


@pytest.mark.engines
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_units_are_valid_and_hardened(tmp_path: Path) -> None:
    units = [*FOLDER.glob("*.service"), *FOLDER.glob("*.timer")]
    assert len(units) == 3
    for unit in units:
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/crestline/bin/crestline", sys.executable))
    copies = sorted(map(str, tmp_path.iterdir()))
    verify, limit = ["systemd-analyze", "verify", *copies], ["security", "--offline=true", "--threshold=20"]
    services = [copy for copy in copies if copy.endswith(".service")]
    for command in (verify, *(["systemd-analyze", *limit, copy] for copy in services)):
        told = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert (told.returncode, told.stderr) == (0, ""), told.stdout


def test_the_report_unit_runs_what_is_due() -> None:
    text = (FOLDER / "crestline-reports.service").read_text()
    (command,) = re.findall(r"^ExecStart=\S+/crestline (.*)$", text, re.MULTILINE)
    assert command == "report due /etc/crestline/crestline.toml"


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
