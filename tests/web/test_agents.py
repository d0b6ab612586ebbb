"""Tools for agents: what the API does, with refusals that a model can act on, and no more than that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import CONFIG, Service, started, write_loans

pytestmark = pytest.mark.long

ASKED: dict[str, Any] = {"dataset": "loans", "k": 2, "item": "title", "epsilon": 1, "delta": "1e-6"}
SQL = "SELECT title, COUNT(*) AS n FROM loans WHERE country = $1 GROUP BY 1 ORDER BY 2 DESC LIMIT 2"


def rpc(service: Service, method: str, params: Any = None, who: str | None = "ann", **headers: str) -> Any:
    """The response of `/mcp` to one message."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    accepted = {"Accept": "application/json, text/event-stream", "Host": "127.0.0.1:8000"}
    return service.client.post("/mcp", json=message, headers={**service.headers(who), **accepted, **headers})


def call(service: Service, tool: str, who: str | None = "ann", **arguments: Any) -> tuple[bool, str, Any]:
    """Whether a tool did what it should, its text, and its structured result."""
    result = rpc(service, "tools/call", {"name": tool, "arguments": arguments}, who).json()["result"]
    (content,) = result["content"]
    return not result["isError"], content["text"], result.get("structuredContent")


def test_tools_say_what_they_take_and_which_of_them_charge(service: Service) -> None:
    tools = {one["name"]: one for one in rpc(service, "tools/list").json()["result"]["tools"]}
    assert set(tools) == {"list_datasets", "describe", "price", "top", "sql", "budget", "explain"}
    assert {name for name, one in tools.items() if not one["annotations"]["readOnlyHint"]} == {"top", "sql"}
    assert all(one["inputSchema"]["additionalProperties"] is False for one in tools.values())
    assert all(one["outputSchema"]["type"] == "object" for one in tools.values())


def test_a_question_is_described_priced_asked_once_and_explained(service: Service) -> None:
    assert call(service, "list_datasets")[2]["datasets"][0]["name"] == "loans"
    assert call(service, "describe", dataset="loans")[2]["items"] == ["title", "genre"]
    assert call(service, "price", **ASKED)[2]["fits"]
    assert service.spent().loss == 0
    good, text, answer = call(service, "top", **ASKED)
    assert good
    assert set(answer["items"]) <= {"Rivers", "Bridges"}
    assert "not instructions" in answer["labels"]
    assert json.loads(text) == answer
    paid = service.spent()
    assert paid.loss > 0
    assert call(service, "top", **ASKED)[2]["stored"]
    assert call(service, "price", **ASKED)[2]["stored"]
    assert "Paid" in call(service, "explain", id=answer["id"])[2]["explanation"]
    assert service.spent() == paid
    good, _, rows = call(service, "sql", dataset="loans", sql=SQL, parameters=["DE"])
    assert good
    assert rows["columns"] == ["title", "n"]
    assert call(service, "budget")[2]["budgets"][0]["used"] > 0
    read = rpc(service, "resources/read", {"uri": f"crestline://answers/{answer['id']}"}).json()["result"]
    assert json.loads(read["contents"][0]["text"])["items"] == answer["items"]


REFUSALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "misspelled": ("top", {**ASKED, "wehre": "country = 'DE'"}, "wehre: no such argument"),
    "missing": ("top", {"dataset": "loans", "k": 1}, "item: missing"),
    "a wrong type": ("top", {**ASKED, "k": "2"}, "k: "),
    "an argument of another tool": ("budget", {"dataset": "loans"}, "dataset: no such argument"),
    "another tool": ("rows", {}, "There is no tool 'rows'"),
    "another data set": ("top", {**ASKED, "dataset": "secret"}, "not for this token"),
    "its description": ("describe", {"dataset": "secret"}, "list_datasets"),
    "a way out": ("top", {**ASKED, "dataset": "../budget?"}, "not"),
    "a column": ("top", {**ASKED, "item": "salary"}, "not for this token"),
    "an answer of others": ("explain", {"id": 7}, "not for this token"),
    "too dear": ("top", {**ASKED, "epsilon": 50}, "% of the budget at most, and 100.0% is left. The budget of 'ann'"),
    "rows": ("sql", {"dataset": "loans", "sql": "SELECT * FROM loans"}, "GROUP BY the column"),
    "sql of two": ("sql", {"dataset": "loans", "sql": "SELECT 1; SELECT 2"}, "One statement"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_says_what_to_do_and_costs_nothing(service: Service, case: str) -> None:
    tool, arguments, words = REFUSALS[case]
    good, text, content = call(service, tool, **arguments)
    assert not good
    assert words in text
    assert content is None
    assert text.isprintable()
    assert service.spent().loss == 0


def test_strangers_and_foreign_hosts_get_nothing(service: Service) -> None:
    assert rpc(service, "tools/list", who=None).status_code == 403
    assert rpc(service, "tools/list", who="cl_x_y").status_code == 403
    assert rpc(service, "tools/list", Host="evil.example").status_code == 421
    assert rpc(service, "tools/list", Origin="https://evil.example").status_code == 403


@pytest.fixture(params=["as it is", "one user less"])
def neighbour(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """The service, on data with or without one user."""
    write_loans(tmp_path / "loans.csv")
    if request.param == "one user less":
        lines = (tmp_path / "loans.csv").read_text().splitlines(keepends=True)
        (tmp_path / "loans.csv").write_text("".join(line for line in lines if not line.startswith("r7,")))
    (tmp_path / "crestline.toml").write_text(CONFIG)
    with started(tmp_path) as running:
        yield running


def test_an_agent_that_narrows_its_filter_is_stopped_by_the_ledger(neighbour: Service) -> None:
    """30 calls: 25 questions, each narrower than the last, between calls that are free. Nothing depends on the rows."""
    said = list[tuple[bool, str]]()
    for number in range(25):
        where = " and ".join(["country = 'DE'", *(f"country <> 'x{part}'" for part in range(number))])
        question: dict[str, Any] = {"dataset": "loans", "k": 1, "item": "title", "where": where}
        said.append(call(neighbour, "top", **question)[:2])
        if number % 5 == 0:
            said.append(call(neighbour, "price", **{**question, "where": "country = 'FR'"})[:2])
    assert len(said) == 30
    ok = [good for good, _ in said]
    paid = sum(good for good, text in said if '"items"' in text)
    assert paid == 10  # a tenth of the budget each
    refused = {text for good, text in said if not good}
    assert ok.count(False) == 15
    assert len(refused) == 1
    assert refused.pop().startswith("This needs 9.9% of the budget at most, and 1.1% is left. The budget of 'ann'")
    ledger = neighbour.state.datasets["loans"].ledger
    assert ledger.verify().ok
    assert neighbour.spent().loss <= ledger.payers("ann")[-1].balance.budget.limit.loss
