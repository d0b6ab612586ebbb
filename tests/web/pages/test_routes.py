"""The dashboard, from signing in to running out of budget; without a script, and for everybody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from crestline.access.keys import Keys
from crestline.access.tokens import Tokens
from crestline.ledger.receipt import utc_now
from crestline.ledger.storage.store import Store
from crestline.serving import ServedSource
from crestline.sources.table import TableSource
from crestline.web.access.sessions import HOURS, Sessions
from tests.patience import PATIENCE
from tests.web.conftest import Service, started
from tests.web.pages.conftest import Page, Visit


def accessible(page: Page) -> None:
    """What every page must have: a language, a title, one heading, a way to skip, and a name for every field."""
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("title")) >= 1
    assert len(page.all("h1")) == 1
    assert page.all("main")[0]["id"] == "content"
    assert all(script["src"] == "/script.js" for script in page.all("script"))
    labelled = {label.get("for") for label in page.all("label")}
    for field in page.all("input"):
        if field["type"] in ("text", "password", "search"):
            assert field["id"] in labelled
    for element, attributes in page.elements:
        assert "style" not in attributes, element
        assert not [name for name in attributes if name.startswith("on")], element


def test_the_whole_path(visit: Visit) -> None:
    first = visit.get("/")
    assert "Sign in" in first.text
    accessible(first)
    home = visit.sign_in("ann")
    accessible(home)
    assert visit.url == "/"
    assert "loans" in home.text
    assert "secret" not in home.text
    form = visit.get("/datasets/loans")
    accessible(form)
    answer = visit.ask()
    accessible(answer)
    assert visit.status == 200
    assert visit.url.startswith("/answers/")
    assert "Paid: 8.0% of the budget" in answer.text
    assert "ledger.db" not in answer.text
    history = visit.get("/history")
    accessible(history)
    assert "The 2 values of 'title' with the most users" in history.text
    visit.post("/sign-out")
    assert "Sign in" in visit.get("/history").text


def test_the_price_is_shown_before_and_nothing_is_charged(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    page = visit.ask(do="forecast")
    assert "Nothing was asked yet. It fits what is left." in page.text
    assert "The budget of 'ann'" in page.text
    assert "which others draw on too" in page.text
    assert "budget of data set" not in page.text  # what others spend is the owner's to see
    assert not service.spent().loss
    assert "It does not fit" in visit.ask(do="forecast", epsilon="50").text


@pytest.mark.long
def test_a_forecast_says_what_to_expect_and_which_mechanism_answers(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    page = visit.ask(do="forecast", users="3000", per_user="2", shape="power:1", counts="yes")
    for words in ("of 2 items", "Sieve: chosen because"):
        assert words in page.text
    accessible(page)
    assert "Write roughly how many users" in visit.ask(do="forecast", users="").text
    chosen = visit.ask(do="forecast", users="3000", mechanism="RestrictedGumbel").text
    assert "RestrictedGumbel: named in the question" in chosen
    assert "ahead of the first item left out (rank " in chosen
    assert not service.spent().loss


def test_coverage_can_be_ticked(visit: Visit) -> None:
    visit.sign_in("ann")
    assert "coverage: ±" not in visit.ask(do="forecast").text
    page = visit.ask(do="forecast", coverage="yes")
    assert "Coverage" in page.text
    assert "±" in page.text
    accessible(page)
    assert "Coverage:" in visit.ask(coverage="yes").text


@pytest.mark.long
def test_a_forecast_reads_no_row(visit: Visit, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a row was read")

    monkeypatch.setattr(ServedSource, "reading", refuse)
    visit.sign_in("ann")
    assert "of 2 items" in visit.ask(do="forecast", users="100000").text
    assert visit.status == 200


@pytest.mark.parametrize("changes", [{"users": "many"}, {"per_user": "-1"}, {"shape": "round"}, {"shape": "power:x"}])
def test_a_guess_that_cannot_be_used(visit: Visit, changes: dict[str, str]) -> None:
    visit.sign_in("ann")
    page = visit.ask(do="forecast", **{"users": "1000", **changes})
    assert visit.status == 422
    accessible(page)


def test_only_mechanisms_of_the_list(visit: Visit) -> None:
    visit.sign_in("ann")
    for name in ("Canonical", "Restricted", "StableAnswers", "nonsense"):
        page = visit.ask(mechanism=name)
        assert "Choose a mechanism of the list." in page.text
        assert "#mechanism" in [link.get("href") for link in page.all("a")]
    listed = visit.get("/how")
    accessible(listed)
    assert "Needs a public list of all items" in listed.text


def test_budgets_by_account(visit: Visit, service: Service) -> None:
    service.top("ann")
    service.top("bob", k=1)
    visit.sign_in("ann")
    own = visit.get("/budget")
    accessible(own)
    assert "8.0% used, 92.0% left" in own.text
    assert "bob" not in own.text
    visit.client.cookies.clear()
    visit.sign_in("olga")
    everybody = visit.get("/budget")
    accessible(everybody)
    for words in ("By account", "ann", "bob", "secret"):
        assert words in everybody.text
    forecast = visit.ask(do="forecast").text
    assert "The budget of data set 'loans'" in forecast
    assert "which others draw on too" not in forecast


def test_the_script_the_look_and_the_icon_are_ours(visit: Visit) -> None:
    for path, kind in (("/style.css", "text/css"), ("/script.js", "text/javascript"), ("/icon.svg", "image/svg+xml")):
        response = visit.client.get(path)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith(kind)


def test_a_refusal_keeps_the_navigation(visit: Visit) -> None:
    visit.sign_in("ann")
    page = visit.get("/answers/999")
    assert visit.status == 403
    assert page.all("nav")


def test_a_budget_runs_out_and_the_page_says_so(visit: Visit) -> None:
    visit.sign_in("ann")
    page = visit.ask(epsilon="50", where="country = 'DE'")
    assert visit.status == 402
    assert [attributes for _, attributes in page.elements if attributes.get("role") == "alert"]
    assert "Refused, and nothing was charged. The budget of 'ann'" in page.text
    assert {"value": "country = 'DE'"}.items() <= next(f for f in page.all("input") if f.get("id") == "where").items()
    accessible(page)


def test_pressing_twice_pays_once(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    key = visit.get("/datasets/loans").hidden("key")
    visit.ask(key=key)
    where, spent = visit.url, service.spent()
    visit.ask(key=key)
    assert (visit.url, service.spent()) == (where, spent)
    page = visit.ask(key=key, k="1")
    assert "used for another question" in page.text
    assert page.hidden("key") != key


@pytest.mark.parametrize(
    "changes", [{"k": ""}, {"k": "²"}, {"item": []}, {"epsilon": "9" * 50}, {"where": "country ="}]
)
def test_a_question_that_cannot_be_asked(visit: Visit, changes: dict[str, str]) -> None:
    visit.sign_in("ann")
    page = visit.ask(**changes)
    assert visit.status == 422
    accessible(page)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"k": ""}, "k", "write a whole number"),
        ({"k": "51"}, "k", "from 1 to 50"),
        ({"epsilon": "nonsense"}, "epsilon", "Epsilon must be a number"),
        ({"epsilon": "1000"}, "epsilon", "between"),
        ({"delta": "9" * 50}, "delta", "short numbers"),
        ({"where": "country ="}, "where", "here"),
        ({"users": "many", "do": "forecast"}, "users", "write a whole number"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(visit: Visit, changes: dict[str, str], field: str, words: str) -> None:
    visit.sign_in("ann")
    page = visit.ask(**changes)
    wrong = [element for element in page.all("input") if element.get("aria-invalid") == "true"]
    assert [element["id"] for element in wrong] == [field]
    assert f"{field}-error" in wrong[0]["aria-describedby"].split()
    assert [element["id"] for element in page.all("p") if element.get("class") == "wrong"] == [f"{field}-error"]
    assert words in page.text
    assert "One field needs another look. Nothing was asked or paid." in page.text
    accessible(page)


def test_everything_that_is_wrong_is_said_at_once(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    page = visit.ask(k="many", epsilon="nonsense", where="country =", item=[])
    assert visit.status == 422
    assert "4 fields need another look. Nothing was asked or paid." in page.text
    linked = {link["href"] for link in page.all("a") if link.get("href", "").startswith("#")}
    assert {"#item", "#k", "#where", "#epsilon"} <= linked
    assert linked - {"#content"} <= {f"#{attributes['id']}" for _, attributes in page.elements if "id" in attributes}
    assert [element["value"] for element in page.all("input") if element.get("id") == "k"] == ["many"]
    assert not service.spent().loss


def test_a_link_fills_in_the_form_and_asks_nothing(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    page = visit.get("/datasets/loans?k=7&item=genre&where=country+%3D+%27DE%27&epsilon=1&delta=1e-6")
    assert "The 7 values of 'genre' with the most users, where country = 'DE'" in page.text
    assert [box["value"] for box in page.all("input") if box.get("name") == "item" and "checked" in box] == ["genre"]
    assert [box["value"] for box in page.all("input") if box.get("id") in ("k", "where")] == ["7", "country = 'DE'"]
    assert "of your budget, at most" in page.text
    assert not service.spent().loss
    visit.get("/datasets/loans?k=x&item=&where=%3Cscript%3E&epsilon=%00&mechanism=none")
    assert visit.status == 200


def test_a_question_that_is_cancelled_before_it_is_charged_never_is(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    key = visit.get("/datasets/loans").hidden("key")

    def cancel() -> Any:
        return visit.client.post("/cancel", data={"key": key}).json()

    spent = service.spent()
    first, second = cancel(), cancel()
    assert first["state"] == second["state"] == "cancelled"
    assert first["key"] != key
    page = visit.ask(key=key)  # it comes late
    assert visit.status == 409
    assert page.hidden("key") != key
    assert service.spent() == spent
    key = page.hidden("key")
    visit.ask(key=key)
    number = int(visit.url.rpartition("/")[2])
    assert cancel() == {"state": "ended", "id": number, "message": None}
    assert service.spent() != spent


def test_an_analyst_is_shown_which_step_the_question_is_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = folder / "crestline.toml"
    config.write_text(config.read_text().replace("[limits]\n", "[limits]\nconnections = 1\n"))
    held = {name: (threading.Event(), threading.Event()) for name in ("checking", "counting")}

    def stopped(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def wait(*arguments: Any, **named: Any) -> Any:
            reached, go_on = held[name]
            reached.set()
            assert go_on.wait(PATIENCE)
            return plain(*arguments, **named)

        return wait

    with started(folder) as service, ThreadPoolExecutor(2) as askers:
        visit = Visit(service)
        visit.sign_in("ann")

        def step(key: str) -> Any:
            return visit.client.post("/progress", data={"key": key}).json()["step"]

        monkeypatch.setattr(TableSource, "check", stopped("checking", TableSource.check))
        monkeypatch.setattr(TableSource, "reading", stopped("counting", TableSource.reading))
        first = askers.submit(service.top, key="first")
        assert held["checking"][0].wait(PATIENCE)
        second = askers.submit(service.top, key="second", k=1)
        while service.state.datasets["loans"].queue.waiting_or_running < 2:
            time.sleep(0.005)
        assert [step(key) for key in ("first", "second", "none")] == ["begun", "waiting", "unknown"]
        held["checking"][1].set()
        assert held["counting"][0].wait(PATIENCE)
        assert [step(key) for key in ("first", "second")] == ["counting", "waiting"]
        visit.sign_in("bob")
        assert step("first") == "unknown"  # it is not his
        visit.sign_in("ann")
        held["counting"][1].set()
        assert [one.result(PATIENCE).status_code for one in (first, second)] == [200, 200]
        assert [step(key) for key in ("first", "second")] == ["unknown", "unknown"]


def test_only_those_who_asked_learn_what_became_of_it(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    key = visit.get("/datasets/loans").hidden("key")
    visit.ask(key=key)
    visit.sign_in("bob")
    assert visit.client.post("/cancel", data={"key": key}).json()["state"] == "cancelled"  # bob's own key, never used
    refused = visit.client.post("/cancel", data={"key": key}, headers={"sec-fetch-site": "cross-site"})
    assert refused.status_code == 403
    visit.post("/sign-out")
    assert "Sign in" in visit.post("/cancel", key=key).text


def test_a_caller_without_rights_gets_nothing(visit: Visit, service: Service) -> None:
    foreign = service.top("bob").json()["id"]
    assert visit.sign_in("nonsense").text.count("This token is not known.") == 1
    assert visit.status == 403
    for path in ("/datasets/loans", f"/answers/{foreign}", "/history"):
        assert "Sign in" in visit.get(path).text
    visit.sign_in("ann")
    refused = {
        visit.get(path).text.split("give this number")[0]
        for path in (f"/answers/{foreign}", "/answers/9", "/datasets/x")
    }
    assert len(refused) == 1
    assert visit.status == 403
    assert "bob" not in visit.get("/history").text
    visit.client.cookies.clear()
    visit.sign_in("olga")
    everything = visit.get("/history")
    assert "(bob’s 1)" in everything.text
    visit.get(next(link["href"] for link in everything.all("a") if "/answers/" in link["href"]))  # the ledger's number
    assert visit.status == 200


def test_a_cookie_is_sealed_and_ends_with_its_token(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    cookie = visit.client.cookies["crestline"]
    number = service.tokens["ann"].split("_")[1]
    assert service.tokens["ann"].split("_", 2)[2] not in cookie
    for forged in (cookie[:-1], cookie + "A", "x", "", "é.1.2", "\udc80"):
        assert service.state.sessions.find_holder(forged) is None
    assert service.state.sessions.find_holder(cookie) == (number, "ann")
    service.state.tokens.revoke(number)
    assert "Sign in" in visit.get("/").text


def test_a_copied_cookie_ends_when_its_holder_signs_out(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    copied = visit.client.cookies["crestline"]
    assert "Sign in" not in visit.get("/").text
    visit.post("/sign-out")
    assert service.state.sessions.find_holder(copied) is None
    visit.client.cookies.set("crestline", copied)
    assert "Sign in" in visit.get("/").text


def test_a_session_holds_on_another_server_and_for_some_hours(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    cookie, number = visit.client.cookies["crestline"], service.tokens["ann"].split("_")[1]
    config = service.state.config
    for hours, holder in ((0, (number, "ann")), (HOURS - 1, (number, "ann")), (HOURS + 1, None)):
        later = utc_now() + timedelta(hours=hours)
        with closing(Store.open(config.ledger, lambda later=later: later, 30.0)) as store:
            keys = Keys.read(config.key_file)
            assert Sessions(store, keys, Tokens(store, keys)).find_holder(cookie) == holder


def test_a_form_of_ours_is_taken_although_our_pages_send_no_referrer(visit: Visit) -> None:
    """Browsers write `null` as its origin then, and say in another header that it is ours."""
    visit.sign_in("ann")
    headers = {"origin": "null", "sec-fetch-site": "same-origin"}
    visit.post("/datasets/loans", headers=headers, item="title", k="2", do="forecast")
    assert visit.status == 200


def test_an_origin_that_is_not_ours_is_refused(visit: Visit) -> None:
    visit.sign_in("ann")
    for origin, status in (("https://elsewhere.example", 403), ("null", 403), ("https://testserver", 200)):
        visit.post("/datasets/loans", headers={"origin": origin}, item="title", k="2", do="forecast")
        assert visit.status == status


def test_a_form_of_another_site_is_refused(visit: Visit) -> None:
    visit.sign_in("ann")
    key = visit.get("/datasets/loans").hidden("key")
    visit.post("/datasets/loans", headers={"sec-fetch-site": "cross-site"}, key=key, item="title", k="2", do="ask")
    assert visit.status == 403


def test_safe_headers(visit: Visit) -> None:
    visit.get("/")
    assert "default-src 'none'" in visit.headers["content-security-policy"]
    assert visit.headers["x-content-type-options"] == "nosniff"
    response = visit.client.post("/sign-in", data={"token": visit.tokens["ann"]}, follow_redirects=False)
    words = response.headers["set-cookie"].lower()
    assert all(word in words for word in ("httponly", "samesite=strict", "secure"))
