"""The dashboard, from signing in to running out of budget; without a script, and for everybody."""

from __future__ import annotations

import pytest

from tests.dashboard.conftest import Page, Visit
from tests.service.conftest import Service


def accessible(page: Page) -> None:
    """What every page must have: a language, a title, one heading, a way to skip, and a name for every field."""
    assert page.all("html")[0]["lang"] == "en"
    assert len(page.all("title")) >= 1
    assert len(page.all("h1")) == 1
    assert page.all("main")[0]["id"] == "content"
    assert [set(script) for script in page.all("script")] == [{"src", "defer"}]
    labelled = {label.get("for") for label in page.all("label")}
    for field in page.all("input"):
        if field["type"] in ("text", "number", "password"):
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
    assert "Paidrho" in answer.text
    assert "books.db" not in answer.text
    history = visit.get("/history")
    accessible(history)
    assert "top 2 title, by LimitedDomain" in history.text
    visit.post("/sign-out")
    assert "Sign in" in visit.get("/history").text


def test_the_price_is_shown_before_and_nothing_is_charged(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    page = visit.ask(do="forecast")
    assert "Nothing was asked yet. It fits what is left." in page.text
    assert "The budget of 'ann'" in page.text
    assert "budget of data set" not in page.text  # what others spend is the owner's to see
    assert not service.spent().loss
    assert "It does not fit" in visit.ask(do="forecast", epsilon="50").text


def test_a_budget_runs_out_and_the_page_says_so(visit: Visit) -> None:
    visit.sign_in("ann")
    page = visit.ask(epsilon="50", where="country = 'DE'")
    assert visit.status == 402
    assert [attributes for attributes in page.all("p") if attributes.get("role") == "alert"]
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


def test_nobody_without_rights_gets_anything(visit: Visit, service: Service) -> None:
    foreign = service.top("bob").json()["id"]
    assert visit.sign_in("nonsense").text.count("This token is not known.") == 1
    assert visit.status == 403
    for path in ("/datasets/loans", f"/answers/{foreign}", "/history"):
        assert "Sign in" in visit.get(path).text
    visit.sign_in("ann")
    refused = {
        visit.get(path).text.split("Request")[0] for path in (f"/answers/{foreign}", "/answers/9", "/datasets/x")
    }
    assert len(refused) == 1
    assert visit.status == 403
    assert "bob" not in visit.get("/history").text
    visit.client.cookies.clear()
    visit.sign_in("olga")
    assert "bob" in visit.get("/history").text
    visit.get(f"/answers/{foreign}")
    assert visit.status == 200


def test_a_cookie_is_sealed_and_ends_with_its_token(visit: Visit, service: Service) -> None:
    visit.sign_in("ann")
    cookie = visit.client.cookies["crestline"]
    assert service.tokens["ann"].split("_", 2)[2] not in cookie
    number, end, mac = cookie.split(".")
    for forged in (f"{number}.{int(end) + 1}.{mac}", f"{number}.{end}.", "x", "", "é.1.2"):
        assert service.house.sessions.token(forged) is None
    assert service.house.sessions.token(cookie) == number
    service.house.tokens.revoke(number)
    assert "Sign in" in visit.get("/").text


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
