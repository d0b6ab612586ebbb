"""Those without rights cannot tell why, to the byte: what a real server sends differs in the request's number only."""

from __future__ import annotations

import json
import re
from http.client import HTTPConnection
from pathlib import Path

import pytest

from crestline.errors import BudgetExhausted
from crestline.web.problems import problem_of
from tests.patience import PATIENCE
from tests.web.conftest import CONFIG, write_loans
from tests.web.processes import serving, tokens_of_config

pytestmark = pytest.mark.engines

STRANGER = "cl_aaaaaaaaaaaaa_" + "A" * 43
NUMBER = re.compile(r"[0-9a-f]{16}")


def made_tokens(config: Path) -> dict[str, str]:
    with tokens_of_config(config) as tokens:
        made = {name: tokens.create(name) for name in ("ann", "bob")}
        made["revoked"] = tokens.create("ann")
        tokens.revoke(made["revoked"].split("_")[1])
        return made


def raw(port: int, path: str, token: str | None, question: dict[str, object] | None = None) -> tuple[int, str]:
    """The status and everything that was sent, headers in their order; but for the date and the request's number."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    body = None if question is None else json.dumps(question)
    connection.request("GET" if body is None else "POST", path, body, headers)
    response = connection.getresponse()
    lines = [f"{name}: {value}" for name, value in response.getheaders() if name.lower() != "date"]
    sent = "\n".join([response.reason, *lines, response.read().decode()])
    connection.close()
    return response.status, NUMBER.sub("<number>", sent)


def test_all_refusals_are_the_same_bytes(tmp_path: Path) -> None:
    write_loans(tmp_path / "loans.csv")
    config = tmp_path / "crestline.toml"
    config.write_text(CONFIG)
    asked: dict[str, object] = {"k": 1, "item": "title", "epsilon": 1, "delta": "1e-6"}
    top = "/v1/datasets/loans/top"
    with serving(config) as (server,):
        tokens = made_tokens(config)
        status, body = raw(server.port, top, tokens["bob"], asked)
        assert status == 200
        foreign = re.search(r'"id":(\d+)', body)[1]  # type: ignore[index] # every answer has one
        altered = tokens["ann"][:-1] + ("A" if tokens["ann"][-1] != "A" else "B")
        refused = [raw(server.port, top, token, asked) for token in (None, "x", STRANGER, altered, tokens["revoked"])]
        for token in (STRANGER, tokens["ann"]):  # without any rights, and with rights to something else
            refused += [raw(server.port, f"/v1/datasets/{name}/top", token, asked) for name in ("secret", "absent")]
            refused += [raw(server.port, f"/v1/answers/{number}", token) for number in (foreign, "999999")]
            refused += [raw(server.port, top, token, {**asked, "item": name}) for name in ("salary", "absent")]
            refused += [raw(server.port, top, token, {**asked, "where": f"{name} = '1'"}) for name in ("salary", "no")]
        assert raw(server.port, f"/v1/answers/{foreign}", tokens["bob"])[0] == 200  # it is there
    assert {status for status, _ in refused} == {403}
    assert len({sent for _, sent in refused}) == 1


def test_a_refusal_for_want_of_a_shared_budget_does_not_tell_what_others_spent() -> None:
    refusal = BudgetExhausted("the budget of data set 'loans' cannot pay for this: rho 0.125 of 3 is left")
    assert problem_of(refusal).message == str(refusal)  # one's own
    refusal.shared = True
    told = problem_of(refusal)
    assert (told.status, told.code) == (402, "budget_exhausted")
    assert not any(letter.isdigit() for letter in told.message)
