"""The service as a client meets it: answers, refusals, keys, counts."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from crestline.config import load_config
from crestline.errors import CrestlineError, EngineDefect, LedgerError, SourceError, SourceUnavailable, StatementTimeout
from crestline.ledger.budget import Budget
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.store import Store
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.sources.pool import Pool
from crestline.sources.table import TableSource
from crestline.sources.wrappers import PerQuestionSource
from crestline.web import readiness
from crestline.web.app import create_app
from crestline.web.service_state import open_state
from tests.patience import PATIENCE
from tests.web.conftest import CONFIG, Service, started

pytestmark = pytest.mark.long


@pytest.mark.long
def test_the_whole_path(service: Service) -> None:
    listed = service.get("/v1/datasets").json()["datasets"]
    assert [part["name"] for part in listed] == ["loans"]
    assert listed[0]["filters"] == ["country"]
    response = service.top()
    answer = response.json()
    assert response.status_code == 200
    assert set(answer["items"]) <= {"Rivers", "Bridges"}
    assert answer["bill"]["receipt"] == answer["id"]
    (mine,) = service.get("/v1/budget").json()["budgets"]
    assert mine["analyst"] == "ann"
    assert 0 < mine["used"] < 1
    assert mine["budget"] == {"kind": "zcdp", "epsilon": 4.0, "delta": 1e-5}
    assert {name: float(Fraction(text)) for name, text in mine["exact"]["remaining"].items()} == mine["remaining"]
    again = service.get(f"/v1/answers/{answer['id']}").json()
    assert (again["items"], again["stored"]) == (answer["items"], True)
    assert again["bill"] == answer["bill"]


def test_several_columns_of_which_no_row_fits_the_filter_are_an_answer_like_any_other(service: Service) -> None:
    answer = service.top(item=["title", "genre"], where="country = 'nowhere'", epsilon=None, delta=None)
    assert (answer.status_code, answer.json()["items"]) == (200, [])


def test_no_address_of_data_or_ledgers_reaches_an_analyst(service: Service, folder: Path) -> None:
    answer = service.top()
    assert answer.json()["source"] == "loans"
    for text in (answer.text, service.get(f"/v1/answers/{answer.json()['id']}").text, service.top().text):
        assert str(folder) not in text
        assert "ledger.db" not in text


def test_the_same_question_is_answered_again_at_no_cost_and_under_the_same_number(service: Service) -> None:
    first = service.top().json()
    spent = service.spent()
    second = service.top().json()
    assert (second["stored"], second["id"], second["items"]) == (True, first["id"], first["items"])
    assert service.spent() == spent
    assert service.top(where="country = 'DE'").json()["stored"] is False


def test_several_columns_and_a_filter(service: Service) -> None:
    answer = service.top(item=["title", "genre"], where="country in ('DE', 'FR')").json()
    assert set(map(tuple, answer["items"])) <= {("Rivers", "nature"), ("Bridges", "craft")}


def test_all_items_are_as_many_as_the_service_allows(service: Service) -> None:
    answer = service.top(k="all").json()
    assert answer["question"]["k"] == service.state.config.limits.k == 50
    assert set(answer["items"]) >= {"Rivers", "Bridges"}
    assert service.top(k="most").status_code == 422


def test_coverage_is_released_where_it_is_asked_for(service: Service) -> None:
    answer = service.top(coverage=True).json()
    assert set(answer["coverage"]) == {"users", "all_users", "share", "spread", "share_spread"}
    assert "Coverage: " in answer["explanation"]
    assert service.top().json().get("coverage") is None
    assert service.top(coverage="yes").status_code == 422


def test_a_delta_that_is_not_small_against_the_public_number_of_users_is_warned_of(folder: Path) -> None:
    public = CONFIG.replace('version = "2026-11"', 'version = "2026-11"\npublic = { users = 9_000_000 }')
    (folder / "crestline.toml").write_text(public)
    with started(folder) as service:
        notes = service.top(delta="1e-6").json()["notes"]
        assert "Warning: delta is not small against one in 9,000,000 users: choose 1e-08 or less." in notes
        assert service.top(delta="1e-8").json()["notes"] == []


def test_what_a_question_may_cost_comes_from_the_analysts_own_budget(service: Service) -> None:
    answer = service.top(epsilon=None, delta=None).json()
    own = Budget(epsilon=4, delta="1e-5")
    assert 0 < service.spent("ann").loss <= own.limit.loss / 10
    assert answer["guarantee"]["delta"] == 2e-8  # a 500th of 1e-5


def test_the_usual_number_of_slots_is_cut_at_the_owners_limit(folder: Path) -> None:
    config = CONFIG.replace("k = 50", "k = 50\nk_bar = 30").replace('version = "2026-11"', "contribution = 2")
    (folder / "crestline.toml").write_text(config)
    with started(folder) as service:
        found = service.top(mechanism="LimitedDomainGauss").json()["question"]
        assert found["k_bar"] == 30  # a hundred for each item, if it were not for the limit
        assert service.top(k_bar=31).json()["error"]["code"] == "bad_question"
        assert service.top(k=31).json()["error"]["code"] == "bad_question"


def test_an_owner_may_ask_for_one_pass(folder: Path) -> None:
    (folder / "crestline.toml").write_text(CONFIG.replace("k = 50", "k = 50\npasses = 1"))
    with started(folder) as service:
        assert service.top().json()["mechanism"]["name"] == "RestrictedGumbel"
        assert service.top(mechanism="Sieve").json()["error"]["code"] == "bad_question"
    (folder / "crestline.toml").write_text(CONFIG.replace("k = 50", "k = 50\npasses = 2"))
    with pytest.raises(CrestlineError, match="passes must be one of 0, 1"):
        load_config(folder / "crestline.toml")


def test_a_budget_runs_out(service: Service) -> None:
    statuses = [service.top(where=f"country <> '{number}'", epsilon=2).status_code for number in range(6)]
    assert statuses[0] == 200
    assert statuses[-1] == 402
    refusal = service.top(where="country <> 'x'", epsilon=2)
    assert refusal.json()["error"]["code"] == "budget_exhausted"
    assert service.top("bob").status_code == 200  # others go on


def same(response: Any) -> tuple[int, Any]:
    """Everything a client can tell two responses apart by, but for the number of the request."""
    body = response.json()
    number = body["error"].pop("request_id")
    assert response.headers["x-request-id"] == number
    return response.status_code, (body, sorted(set(response.headers) - {"date"}), response.headers["content-length"])


def test_those_without_rights_cannot_tell_why(service: Service) -> None:
    foreign = service.top("bob").json()["id"]
    stranger = "cl_aaaaaaaaaaaaa_" + "A" * 43
    altered = service.tokens["ann"][:-1] + ("A" if service.tokens["ann"][-1] != "A" else "B")
    revoked = service.state.tokens.create("ann")
    service.state.tokens.revoke(revoked.split("_")[1])
    refused = [service.top(who) for who in (None, "nonsense", stranger, altered, revoked)]
    refused += [service.top(dataset=name) for name in ("secret", "absent", "x" * 300)]
    refused += [service.get(f"/v1/answers/{number}") for number in (foreign, 0, 10**9)]
    refused += [service.get(f"/v1/answers/{foreign}", stranger), service.get("/v1/budget", stranger)]
    refused += [service.top(item=column) for column in ("salary", "reader", "absent", ["title", "salary"])]
    refused += [service.top(where=f"{column} = '1'") for column in ("salary", "absent")]
    refused += [service.top(where="country = 'DE' and not (country = 'FR' or salary > 5)")]
    assert {repr(same(response)) for response in refused} == {repr(same(refused[0]))}
    assert refused[0].status_code == 403


def test_an_owner_sees_everything_and_pays_from_the_data_set(service: Service) -> None:
    assert service.top("bob").json()["id"] == 1
    (settled,) = (one for one in service.state.datasets["loans"].ledger.history() if one.kind == "settled")
    assert service.get(f"/v1/answers/{settled.receipt}", "olga").json()["bill"]["receipt"] == settled.receipt
    assert [part["name"] for part in service.get("/v1/datasets", "olga").json()["datasets"]] == ["loans", "secret"]
    accounts = service.get("/v1/budget", "olga").json()["budgets"]
    assert [(account["dataset"], account["analyst"]) for account in accounts] == [
        ("loans", None),
        ("loans", "ann"),
        ("loans", "bob"),
        ("secret", None),
    ]
    assert service.top("olga", dataset="secret", epsilon="0.1", delta="1e-8").status_code == 200


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"k": 0}, "invalid_request"),
        ({"k": "2"}, "invalid_request"),
        ({"surprise": 1}, "invalid_request"),
        ({"item": []}, "invalid_request"),
        ({"k": 51}, "bad_question"),
        ({"k_bar": 1}, "bad_question"),
        ({"epsilon": -1}, "bad_question"),
        ({"epsilon": "much"}, "bad_question"),
        ({"epsilon": 1e300}, "bad_question"),
        ({"epsilon": "1e-300"}, "bad_question"),
        ({"delta": 0}, "bad_question"),
        ({"where": "country = '\x00'"}, "bad_question"),
        ({"mechanism": "Nobody"}, "bad_question"),
        ({"mechanism": "Lipschitz"}, "bad_question"),
        ({"where": "country ="}, "bad_question"),
        ({"where": "country = 'DE'; drop table loans"}, "bad_question"),
    ],
)
def test_a_question_that_cannot_be_asked_costs_nothing(service: Service, changes: dict[str, Any], code: str) -> None:
    response = service.top(**changes)
    assert (response.status_code, response.json()["error"]["code"]) == (422, code)
    assert "salary" not in response.text
    assert not service.spent().loss


def test_one_shape_for_every_error(service: Service) -> None:
    client = service.client
    bad = "{not json"
    responses = [
        client.get("/nowhere"),
        client.delete("/v1/budget"),
        client.post("/v1/datasets/loans/top", content=bad, headers=service.headers("ann")),
        client.post("/v1/datasets/loans/top", content="x" * 100_000, headers=service.headers("ann")),
        client.post("/v1/datasets/loans/top", content=iter([b"x" * 50_000] * 2), headers=service.headers("ann")),
        service.get("/v1/answers/many"),
    ]
    assert [response.status_code for response in responses] == [404, 405, 422, 413, 400, 422]
    for response in responses:
        assert set(response.json()) == {"error"}
        assert set(response.json()["error"]) == {"code", "message", "request_id"}
        assert response.headers["x-request-id"] == response.json()["error"]["request_id"]


def test_a_key_pays_once(service: Service) -> None:
    first = service.top(key="one")
    spent = service.spent()
    second = service.top(key="one")
    assert second.json() == first.json()
    assert service.spent() == spent
    other = service.top(key="one", k=1)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "key_reused")
    assert service.top("bob", key="one").json()["stored"] is False  # everybody has keys of their own


def test_a_key_pays_once_where_the_data_have_no_version(folder: Path) -> None:
    """Without a version the ledger serves nothing again: only the key can."""
    text = CONFIG.replace('version = "2026-11"\n', "").replace("loans.csv", "duckdb:///LOANS", 1)
    import duckdb

    with duckdb.connect(str(folder / "loans.duckdb")) as connection:
        connection.execute(f"create table loans as from '{folder / 'loans.csv'}'")
    text = text.replace("duckdb:///LOANS", f"duckdb:///{folder / 'loans.duckdb'}", 1)
    text = text.replace('user = "reader"', 'table = "loans"\nuser = "reader"', 1)
    (folder / "crestline.toml").write_text(text)
    state = open_state(load_config(folder / "crestline.toml"))
    with TestClient(create_app(state)) as client:
        service = Service(client, state, {"ann": state.tokens.create("ann")})
        first, spent = service.top(key="one", epsilon="0.1"), service.spent()
        assert service.top(key="one", epsilon="0.1").json() == first.json()
        assert service.spent() == spent
        assert service.top(epsilon="0.1").json()["id"] != first.json()["id"]
        assert service.spent() != spent
        mistyped = service.top(where="country > 5")
        assert (mistyped.status_code, mistyped.json()["error"]["code"]) == (422, "bad_question")
        assert "salary" not in mistyped.text


def test_a_key_sent_twice_at_once_pays_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    both, released = threading.Barrier(2, timeout=PATIENCE), []
    plain = TableSource.reading

    def counted(self: TableSource, *arguments: Any) -> Any:
        released.append(1)
        return plain(self, *arguments)

    monkeypatch.setattr(TableSource, "reading", counted)

    def send(_: int) -> Any:
        both.wait()
        return service.top(key="twin", epsilon="0.5").json()

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(send, range(2))
    assert first == second
    assert first["stored"] is False
    assert len(released) == 1


def test_what_failed_after_it_was_charged_is_not_charged_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise SourceError("the engine did not answer (a row says: hello)")

    monkeypatch.setattr(TableSource, "reading", broken)
    first = service.top(key="one")
    spent = service.spent()
    monkeypatch.undo()
    second = service.top(key="one")
    assert (first.status_code, second.status_code) == (503, 409)
    assert service.spent() == spent
    assert "hello" not in first.text


def test_what_was_settled_and_not_delivered_is_served_after_a_crash(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> Any:
        raise RuntimeError("the process ends")

    with monkeypatch.context() as patch:
        patch.setattr("crestline.web.permissions.answer_json", dies)
        assert service.top(key="one").status_code == 500
    spent, again = service.spent(), open_state(load_config(folder / "crestline.toml"))
    with TestClient(create_app(again)) as client:
        served = Service(client, again, service.tokens).top(key="one")
        assert (served.status_code, served.json()["id"], served.json()["stored"]) == (200, 1, False)
        assert service.spent() == spent


def test_a_request_that_never_ended_is_not_asked_anew(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: Any) -> Any:
        raise RuntimeError("a private row")

    monkeypatch.setattr(TableSource, "reading", dies)
    first = service.top(key="one")
    monkeypatch.undo()
    assert (first.status_code, first.json()["error"]["code"]) == (500, "internal_error")
    assert "private" not in first.text
    assert service.top(key="one").json()["error"]["code"] == "unfinished"


def test_a_refusal_that_cost_nothing_is_not_kept(service: Service) -> None:
    assert service.top(key="one", item="salary").status_code == 403
    assert service.top(key="one", epsilon=1).status_code == 200


def test_too_many_requests(folder: Path) -> None:
    path = folder / "crestline.toml"
    path.write_text(CONFIG.replace("requests_per_minute = 1000", "requests_per_minute = 2"))
    state = open_state(load_config(path), seconds=lambda: 0.0)
    with TestClient(create_app(state)) as client:
        service = Service(client, state, {name: state.tokens.create(name) for name in ("ann", "bob")})
        responses = [service.get("/v1/budget") for _ in range(3)]
        assert [response.status_code for response in responses] == [200, 200, 429]
        assert responses[-1].headers["retry-after"] == "30"
        assert service.get("/v1/budget", "bob").status_code == 200


def test_a_statement_that_an_engine_fails_on_is_counted_for_the_owner(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The analyst is told what is told of a lost connection."""
    said = []
    for failure in (SourceError("the engine did not answer"), EngineDefect("ConversionException")):

        def broken(*_: Any, failure: Exception = failure) -> Any:
            raise failure

        monkeypatch.setattr(TableSource, "reading", broken)
        said.append(service.top().json()["error"] | {"request_id": None})
    assert said[0] == said[1]
    counted = [line for line in service.get("/metrics", "olga").text.splitlines() if "defects_total{" in line]
    assert counted == ['crestline_engine_defects_total{error="ConversionException"} 1.0']


def test_the_description_names_every_route(service: Service) -> None:
    described = service.client.get("/openapi.json").json()["paths"]
    assert set(described) == {
        "/v1/datasets/{name}/top",
        "/v1/datasets/{name}/price",
        "/v1/sql",
        "/v1/datasets",
        "/v1/budget",
        "/v1/answers/{id}",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    assert service.client.get("/docs").status_code == 200


def test_the_ledger_hold_after_all_this(service: Service) -> None:
    service.top(key="a")
    service.top("bob", counts=False, k=1)
    service.top("olga", item="genre")
    assert service.state.datasets["loans"].ledger.verify().ok


def test_numbers_beyond_a_mechanism_are_refused_before_a_charge(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beyond(self: LimitedDomain) -> Any:
        raise ValueError("too many digits")

    monkeypatch.setattr(LimitedDomain, "guarantee", beyond)
    response = service.top(mechanism="LimitedDomain", epsilon="0.0123")  # no other test asks this: nothing is kept yet
    assert (response.status_code, response.json()["error"]["code"]) == (422, "bad_question")
    assert not service.spent().loss


def test_with_a_stated_version_an_answer_does_not_show_that_the_file_was_touched(
    service: Service, folder: Path
) -> None:
    assert service.top().json()["stored"] is False
    file = folder / "loans.csv"
    file.write_text(file.read_text() + "r1,Ponds,nature,DE,1\n")
    assert service.top().json()["stored"] is True


def test_a_question_that_took_too_long_is_charged_once_and_not_asked_again_for_a_while(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: Any) -> Any:
        raise StatementTimeout("too long")

    with monkeypatch.context() as patch:
        patch.setattr(TableSource, "reading", late)
        assert service.top().status_code == 503
        spent = service.spent()
        refused = service.top()
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "took_too_long")
    assert 0 < int(refused.headers["Retry-After"]) <= 600
    assert service.spent() == spent
    assert service.top(k=1).status_code == 200  # another question is asked


def test_no_connection_is_a_free_refusal_that_says_when_to_come_back(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any) -> Any:
        raise SourceUnavailable("cut", wait=3)

    with monkeypatch.context() as patch:
        patch.setattr(PerQuestionSource, "ready", lost)
        patch.setattr(Pool, "_open_connection", lost)
        refused = service.top(key="one")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "3")
    assert "Nothing was charged" in refused.json()["error"]["message"]
    assert service.spent().loss == 0
    assert service.top(key="one").status_code == 200  # the key was not used up


def test_an_error_before_the_charge_does_not_use_up_a_key_and_one_after_it_does(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr(Pool, "check", broken)
        assert service.top(key="one").status_code == 500
    assert service.spent().loss == 0
    assert service.top(key="one").status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(TableSource, "reading", broken)
        assert service.top(key="two", k=1).status_code == 500
    refused = service.top(key="two", k=1)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "unfinished")


@pytest.mark.long
def test_slow_questions_delay_no_other_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty-eight questions that do not end: pages, budgets and counts are there, and the next question is refused."""
    config = folder / "crestline.toml"
    limits = "[limits]\nconnections = 2\nwaiting = 46\n"
    config.write_text(config.read_text().replace("[limits]\n", limits))
    go_on = threading.Event()
    plain = TableSource.reading

    def slow(self: TableSource, *arguments: Any) -> Any:
        assert go_on.wait(PATIENCE)
        return plain(self, *arguments)

    monkeypatch.setattr(TableSource, "reading", slow)
    with started(folder) as service, ThreadPoolExecutor(48) as pool:
        queue = service.state.datasets["loans"].queue
        asked = [pool.submit(service.top, k=1, epsilon=f"0.00{number}1", delta="1e-10") for number in range(48)]
        while queue.waiting_or_running < 48:
            time.sleep(0.01)
        for path in ("/healthz", "/metrics", "/v1/budget", "/v1/datasets", "/"):
            assert service.get(path, "olga").status_code == 200
        counted = service.get("/metrics", "olga").text
        assert 'crestline_connections_in_use{dataset="loans"} 2.0' in counted
        assert 'crestline_queue_length{dataset="loans"} 46.0' in counted
        refused = service.top(k=2)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        go_on.set()
        assert {answer.result(PATIENCE).status_code for answer in asked} == {200}
        assert queue.waiting_or_running == 0


def test_every_request_is_a_line_of_json_without_rows_or_addresses(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("the row of u17")

    with caplog.at_level("INFO", logger="crestline.requests"):
        service.top()
        service.top(item="salary")
        service.client.get("/a/private/path?q=secret")
        monkeypatch.setattr(TableSource, "reading", broken)
        service.top(k=1)
    lines = [json.loads(record.message) for record in caplog.records if record.name == "crestline.requests"]
    top = "/v1/datasets/{name}/top"
    assert [(line["analyst"], line["route"], line["status"], line["error"]) for line in lines] == [
        ("ann", top, 200, None),
        ("ann", top, 403, "forbidden"),
        (None, "other", 404, "no_such_route"),
        ("ann", top, 500, "RuntimeError"),
    ]
    assert all(set(line) == {"time", "request_id", "analyst", "route", "status", "error", "seconds"} for line in lines)
    assert "u17" not in caplog.text
    assert "secret" not in caplog.text


def test_a_service_is_ready_while_its_ledger_can_be_written(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service.state.readiness._pause = 0.0
    caplog.set_level("INFO", logger="crestline.requests")
    assert service.client.get("/readyz").json() == {"status": "ok"}

    def lost(*_: Any) -> Any:
        raise LedgerError("the database is gone")

    monkeypatch.setattr(Database, "write", lost)
    stranger = service.client.get("/readyz")
    assert (stranger.status_code, stranger.json()["error"]["message"]) == (503, "Not ready.")
    assert service.get("/readyz", "ann").json()["error"]["message"] == "Not ready."
    assert service.get("/readyz", "olga").json()["error"]["message"] == "the database is gone"
    assert service.client.get("/healthz").status_code == 200
    assert json.loads(caplog.messages[1])["reason"] == "the database is gone"


def test_a_witness_that_cannot_be_written_makes_the_service_not_ready(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "PAUSE", 0.0)
    (folder / "kept").mkdir()
    (folder / "crestline.toml").write_text('witness = "kept/witness"\n' + CONFIG)
    with started(folder) as service:
        assert service.client.get("/readyz").status_code == 200
        (folder / "kept" / "witness").rename(folder / "witness")
        (folder / "kept").rmdir()
        assert "witness" in service.get("/readyz", "olga").json()["error"]["message"]
        question = service.top()
        assert (question.status_code, question.json()["error"]["code"]) == (503, "ledger_unavailable")


def test_what_is_found_of_the_ledger_holds_for_a_moment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    written, write = list[int](), Database.write

    def count(database: Database, change: Any) -> Any:
        written.append(1)
        return write(database, change)

    monkeypatch.setattr(Database, "write", count)
    assert {service.client.get("/readyz").status_code for _ in range(5)} == {200}
    assert written == [1]


@pytest.mark.long
def test_prices_and_forecasts_may_take_a_share_of_the_processor(folder: Path) -> None:
    (folder / "crestline.toml").write_text(CONFIG.replace("k = 50", "k = 50\nfree_seconds = 1"))
    with started(folder) as service:
        body = {"item": "title", "epsilon": 9, "delta": "1e-6", "mechanism": "RestrictedNormal", "k_bar": 20_000}
        headers = service.headers("ann")
        for k in range(1, 51):
            answer = service.client.post("/v1/datasets/loans/price", json={**body, "k": k}, headers=headers)
            if answer.status_code == 429:
                break
            assert answer.status_code == 200
        assert answer.status_code == 429
        form = {"k": "2", "item": "title", "epsilon": "1", "delta": "1e-6", "do": "forecast"}
        service.client.base_url = "https://testserver"
        service.client.post("/sign-in", data={"token": service.tokens["ann"]})
        assert service.client.post("/datasets/loans", data=form).status_code == 429


def test_refused_questions_may_take_a_share_of_the_processor(folder: Path) -> None:
    (folder / "crestline.toml").write_text(CONFIG.replace("k = 50", "k = 50\nfree_seconds = 1"))
    with started(folder) as service:
        refused: dict[str, Any] = {"mechanism": "RestrictedNormal", "k_bar": 20_000, "epsilon": 90}
        begun, codes = time.process_time(), list[str]()
        for number in range(60):
            codes.append(service.top(k=1 + number % 50, **refused).json()["error"]["code"])
            if codes[-1] == "too_many_requests":
                break
        assert codes[-1] == "too_many_requests"
        assert time.process_time() - begun < 30
        last = service.top(**refused)
        assert 1 <= int(last.headers["Retry-After"]) <= 60
        assert service.top("bob").status_code == 200  # each token has its own share


def test_a_start_looks_for_the_budgets_of_all_analysts_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One look for each analyst would read all accounts as many times as there are."""
    more = "".join(f"\n[analysts.a{number}.budgets]\nloans = {{ epsilon = 4, delta = 1e-5 }}\n" for number in range(40))
    (folder / "crestline.toml").write_text(CONFIG + more)
    looks, plain = [], Store.accounts
    monkeypatch.setattr(Store, "accounts", lambda *given: (looks.append(1), plain(*given))[1])
    state = open_state(load_config(folder / "crestline.toml"))
    try:
        assert len(state.datasets["loans"].ledger.accounts) == 43
        assert len(looks) < 10
        opened = [entry.time for entry in state.store.entries("loans") if entry.kind == "opened"]
        assert len(opened) == 43
    finally:
        state.close()
