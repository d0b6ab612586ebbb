"""Budgets by period in the service: configured, asked over HTTP and in the form, shown as a calendar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crestline.cli.main import run
from crestline.config import load_config
from crestline.errors import ParameterError
from tests.web.conftest import CONFIG, Service, started

MONTHLY = 'per = "month", time = "day"'
BY_PERIOD = CONFIG.replace(
    "budget = { epsilon = 8, delta = 1e-4 }",
    f"budget = {{ epsilon = 8, delta = 1e-4, {MONTHLY}, cap = {{ periods = 3, epsilon = 9, delta = 1e-4 }} }}",
).replace("loans = { epsilon = 4, delta = 1e-5 }", f"loans = {{ epsilon = 4, delta = 1e-5, {MONTHLY} }}")


def write_months(folder: Path) -> None:
    rows = ["reader,title,genre,country,day"]
    rows += [f"r{reader},{'Rivers' if month == 9 else 'Bridges'},nature,DE,2025-{month:02}-05"
             for reader in range(2000) for month in (9, 10)]  # fmt: skip
    (folder / "loans.csv").write_text("\n".join(rows) + "\n")


@pytest.fixture
def monthly(tmp_path: Path) -> Iterator[Service]:
    write_months(tmp_path)
    (tmp_path / "crestline.toml").write_text(BY_PERIOD)
    with started(tmp_path) as running:
        yield running


@pytest.mark.long
def test_periods_over_http(monthly: Service) -> None:
    first = monthly.top(period="2025-09").json()
    assert first["items"] == ["Rivers"]
    assert "rows of one month" in first["notes"][0]
    assert set(monthly.top(since="2025-09", until="2025-10").json()["items"]) == {"Rivers", "Bridges"}
    budgets = monthly.get("/v1/budget").json()["budgets"]
    assert [one.get("period") for one in budgets] == [None, "2025-09", "2025-10"]
    again = monthly.get(f"/v1/answers/{first['id']}").json()
    assert again["items"] == ["Rivers"]
    assert again["bill"]["paid"] == first["bill"]["paid"]
    for changes in ({}, {"period": "2999-01"}, {"last": 0}, {"period": "x"}, {"period": "2025-09", "last": 1}):
        assert monthly.top(**changes).status_code in (400, 422), changes


@pytest.mark.long
def test_the_form_and_the_calendar(monthly: Service) -> None:
    client = monthly.client
    client.base_url = "https://testserver"
    assert client.post("/sign-in", data={"token": monthly.tokens["ann"]}).status_code == 200
    page = client.get("/datasets/loans").text
    assert "left of your budget for that month" in page
    form = {"k": "2", "item": "title", "epsilon": "1", "delta": "1e-6"}
    forecast = client.post("/datasets/loans", data={**form, "do": "forecast", "period": "2025-09"})
    assert "in 2025-09" in forecast.text
    answer = client.post("/datasets/loans", data={**form, "do": "ask", "since": "2025-09", "until": "2025-10"})
    assert answer.status_code == 200
    assert "Rivers" in answer.text
    refused = client.post("/datasets/loans", data={**form, "do": "ask", "period": "2025-13"})
    assert "is no period" in refused.text.replace("&#x27;", "'")
    budget = client.get("/budget").text
    for words in ("Earlier months that were asked about", "September 2025:", "What is left of the last 12 months"):
        assert words in budget


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (BY_PERIOD.replace('per = "month", time = "day", cap', 'per = "month", time = "when", cap'), "'when'"),
        (BY_PERIOD.replace("periods = 3, ", ""), "periods is missing"),
        (BY_PERIOD.replace("epsilon = 9, ", ""), "epsilon is missing"),
        (BY_PERIOD.replace("periods = 3", "period = 3"), "did you mean 'periods'"),
        (BY_PERIOD.replace('per = "month"', 'per = "moon"', 1), "per must be one of"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, wrong: str, why: str) -> None:
    (tmp_path / "loans.csv").write_text("reader,title,genre,country,day\n")
    (tmp_path / "crestline.toml").write_text(wrong)
    with pytest.raises((ParameterError, ValueError), match=why), started(tmp_path):
        pass


REPORTS = """
[reports.weekly]
dataset = "loans"
every = "quarter"
since = "2025-Q3"
folder = "published"
question = { k = 2, item = "title", epsilon = 1, delta = 1e-6 }
"""


@pytest.mark.long
def test_a_report_is_published_by_a_command_and_shown_to_those_who_may_ask(
    tmp_path: Path, monthly: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crestline.toml").write_text(BY_PERIOD + REPORTS)
    assert run(["report", "due", str(tmp_path / "crestline.toml"), "--format", "csv"]) == 0
    first = capsys.readouterr().out
    assert "weekly,2025-Q3,stopped,1," in first
    assert run(["report", "due", str(tmp_path / "crestline.toml"), "--format", "csv", "--name", "weekly"]) == 0
    assert capsys.readouterr().out == first
    assert {path.suffix for path in (tmp_path / "published").glob("weekly.*")} == {".csv", ".json", ".html", ".svg"}
    with started(tmp_path) as service:
        client = service.client
        client.base_url = "https://testserver"
        client.post("/sign-in", data={"token": service.tokens["ann"]})
        assert "/reports/weekly" in client.get("/reports").text
        page = client.get("/reports/weekly").text
        assert "Rivers" in page
        assert 'href="/reports/weekly.svg"' in page
        assert "Ranking over time of weekly" in page
        assert client.get("/reports/weekly.svg").text.startswith("<svg")
        assert client.get("/reports/none").status_code == 403
    assert run(["report", "due", str(tmp_path / "crestline.toml"), "--name", "wekly"]) == 2


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (REPORTS.replace('"quarter"', '"hour"'), "every must be one of"),
        (REPORTS.replace('"loans"', '"lones"'), "names no data set"),
        (REPORTS.replace('"loans"', '"secret"'), "not by period"),
        (REPORTS.replace("k = 2", "kk = 2"), "no such argument"),
        (REPORTS.replace("k = 2", "k = 2, domain = 'all'"), "names no list"),
        (REPORTS.replace("2025-Q3", "2025-08"), "does not begin with a quarter"),
        (REPORTS.replace("folder", "folders"), "did you mean 'folder'"),
    ],
)
def test_mistakes_in_reports_are_named_with_their_place(tmp_path: Path, wrong: str, why: str) -> None:
    (tmp_path / "crestline.toml").write_text(BY_PERIOD + wrong)
    with pytest.raises(ParameterError, match=why):
        load_config(tmp_path / "crestline.toml")
