"""The configuration is followed while the service runs: in this process, and in real workers by SIGHUP."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from crestline.errors import LedgerError
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.witness import FileWitness
from crestline.web.requests.access_log import LOGGER, AccessLog
from crestline.web.server import reload_configuration
from tests.ledger.conftest import drawn
from tests.patience import PATIENCE
from tests.web.conftest import Service
from tests.web.processes import Server, write_service
from tests.web.test_metrics import metrics_of

pytestmark = pytest.mark.engines


def follow(service: Service, folder: Path, change: tuple[str, str], caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    """Change the file, reload it, and give the line that says what came of it."""
    path = folder / "crestline.toml"
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    caplog.clear()
    with caplog.at_level("INFO", logger=LOGGER):
        reload_configuration(service.client.app, path, AccessLog(service.state.store.now))  # type: ignore[arg-type]
    (line,) = [json.loads(record.message) for record in caplog.records if '"event"' in record.message]
    return dict(line)


def test_what_is_served_follows_the_file(service: Service, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    answer, served = service.top().json(), service.state.datasets["loans"]
    more = "\n[analysts.cyd.budgets]\nsecret = { epsilon = 0.5, delta = 1e-7 }\n\n[analysts.olga]"
    assert follow(service, folder, ("\n[analysts.olga]", more), caplog)["result"] == "loaded"
    state = service.client.app.state.service  # type: ignore[attr-defined]
    assert state.datasets["loans"] is served  # with its connections
    assert state.datasets["secret"].ledger.remaining("cyd") is not None
    assert service.get(f"/v1/answers/{answer['id']}").json()["items"] == answer["items"]
    assert follow(service, folder, ('items = ["title", "genre"]', 'items = ["genre"]'), caplog)["result"] == "loaded"
    assert service.top(k=1).status_code == 403
    assert service.top(k=1, item="genre").status_code == 200
    assert follow(service, folder, ("requests_per_minute = 1000", "requests_per_minute = 1"), caplog)
    assert [service.get("/v1/budget").status_code for _ in range(2)] == [200, 429]


def test_a_witness_that_is_added_is_told_from_then_on(
    service: Service, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    added = ('ledger = "ledger.db"', 'ledger = "ledger.db"\nwitness = "ledger.witness"')
    assert follow(service, folder, added, caplog)["result"] == "loaded"
    assert service.top().status_code == 200
    state = service.client.app.state.service  # type: ignore[attr-defined]
    known = FileWitness(folder / "ledger.witness").read()
    assert known is not None
    assert f"{known.confirmed.length}:{known.confirmed.hash}" == state.store.checksum()
    with pytest.raises(LedgerError, match="is not written without it"):
        Ledger.open(folder / "ledger.db", dataset="loans").reserve(drawn(1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("epsilon = 8", "epsilon = 9"), "never changed"),
        (('items = ["title", "genre"]', 'items = ["titel"]'), "titel"),
        (("[limits]", "[limit"), "not TOML"),
        (('ledger = "ledger.db"', 'ledger = "other.db"'), "restart the service"),
    ],
)
def test_what_cannot_be_served_changes_nothing(
    service: Service, folder: Path, caplog: pytest.LogCaptureFixture, change: tuple[str, str], words: str
) -> None:
    line = follow(service, folder, change, caplog)
    assert line["result"] == "kept"
    assert words in line["message"]
    assert service.client.app.state.service is service.state  # type: ignore[attr-defined]
    assert service.top().status_code == 200
    assert not (folder / "other.db").exists()


def events(server: Server, result: str, most: int) -> None:
    """Wait until so many workers have said so."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        lines = [line for line in server.log.read_text().splitlines() if '"event"' in line]
        if Counter(json.loads(line)["result"] for line in lines)[result] >= most:
            return
        time.sleep(0.05)
    raise TimeoutError(server.log.read_text())


@pytest.mark.slow
def test_workers_reload_without_signing_analysts_out_and_count_together(tmp_path: Path) -> None:
    token = write_service(tmp_path, "ledger.db", 10.0, 1)["analyst0"]
    config = tmp_path / "crestline.toml"
    server = Server(config, workers=2)
    try:
        server.wait_until_ready()
        while server.log.read_text().count("Application startup complete") < 2:
            time.sleep(0.05)
        here = f"http://127.0.0.1:{server.port}"
        signed = httpx.post(f"{here}/sign-in", data={"token": token}, timeout=PATIENCE)
        cookies = {"crestline": signed.cookies["crestline"]}
        text = config.read_text()
        config.write_text(text + '\n[datasets.more]\nsource = "loans.csv"\nuser = "user"\nitems = ["item"]\n'
                          "budget = { epsilon = 1, delta = 1e-6 }\n[analysts.olga]\nrole = 'owner'\n")  # fmt: skip
        server.process.send_signal(signal.SIGHUP)
        events(server, "loaded", 2)
        config.write_text("nonsense")
        server.process.send_signal(signal.SIGHUP)
        events(server, "kept", 2)
        for _ in range(12):  # whichever worker answers
            page = httpx.get(f"{here}/", cookies=cookies, headers={"accept": "text/html"}, timeout=PATIENCE)
            assert "Sign out" in page.text
            assert httpx.get(f"{here}/v1/nothing", timeout=PATIENCE).status_code == 404
        assert metrics_of(server.port)['crestline_requests_total{route="other",status="4xx"}'] == 12
        assert metrics_of(server.port)['crestline_budget_left_ratio{dataset="more"}'] == 1
        assert server.stop() in (0, -signal.SIGTERM)
    finally:
        server.kill()
