"""The owner's page: what is served, to whom, and tokens made and ended; for the owner alone."""

from __future__ import annotations

import re

import pytest

from tests.web.conftest import Service
from tests.web.pages.conftest import Visit

POSTS = (("/owner/tokens", {"analyst": "ann"}), ("/owner/revoke", {"number": "aaaaaaaaaaaaa"}))


def test_an_owner_sees_what_is_served_and_to_whom(visit: Visit, service: Service) -> None:
    service.top()
    visit.sign_in("olga")
    page = visit.get("/owner")
    for words in ("loans", "secret", "reader", "2026-11", "ann", "bob", "epsilon 4", "92.0% left", "holds"):
        assert words in page.text, words
    assert [link for link in page.all("a") if link.get("href") == "/owner" and link.get("aria-current") == "page"]


def test_a_token_is_made_shown_once_and_ended(visit: Visit, service: Service) -> None:
    visit.sign_in("olga")
    page = visit.post("/owner/tokens", analyst="ann", expires="2d")
    assert visit.status == 200
    assert "no-store" in visit.headers["cache-control"]
    (token,) = re.findall(r"cl_[a-z2-7]{13}_[A-Za-z0-9_.-]+", page.text)
    number = token.split("_")[1]
    assert service.client.get("/v1/budget", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    listed = visit.get("/owner")
    assert number in listed.text
    assert token.split("_", 2)[2] not in listed.text
    visit.post("/owner/revoke", number=number)
    assert visit.url == "/owner"
    assert service.client.get("/v1/budget", headers={"Authorization": f"Bearer {token}"}).status_code == 403
    assert [one.revoked for one in service.state.tokens.list_tokens() if one.id == number] != [None]


def test_what_cannot_be_done_is_said(visit: Visit, service: Service) -> None:
    visit.sign_in("olga")
    before = service.state.tokens.list_tokens()
    page = visit.post("/owner/tokens", analyst="ann", expires="soon")
    assert visit.status == 422
    assert [element["id"] for element in page.all("input") if element.get("aria-invalid") == "true"] == ["expires"]
    for path, fields in (("/owner/tokens", {"analyst": "nobody"}), ("/owner/revoke", {"number": "nonsense"})):
        visit.post(path, **fields)
        assert visit.status == 422
    assert service.state.tokens.list_tokens() == before


def test_an_owner_who_ends_their_own_token_is_signed_out(visit: Visit, service: Service) -> None:
    visit.sign_in("olga")
    visit.post("/owner/revoke", number=service.tokens["olga"].split("_")[1])
    assert "Sign in" in visit.get("/owner").text


@pytest.mark.parametrize("who", [None, "ann"])
def test_it_is_for_the_owner_alone(visit: Visit, service: Service, who: str | None) -> None:
    if who is not None:
        home = visit.sign_in(who)
        assert "/owner" not in [link.get("href") for link in home.all("a")]
    before = service.state.tokens.list_tokens()
    for path, fields in (("/owner", None), *POSTS):
        page = visit.get(path) if fields is None else visit.post(path, **fields)
        assert visit.status == 403 if who else "Sign in" in page.text
        assert "Revoke" not in page.text
    assert service.state.tokens.list_tokens() == before


def test_no_other_site_can_make_or_end_a_token(visit: Visit, service: Service) -> None:
    visit.sign_in("olga")
    before = service.state.tokens.list_tokens()
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://elsewhere.example"}):
        for path, fields in POSTS:
            visit.post(path, headers=headers, **fields)
            assert visit.status == 403
    assert service.state.tokens.list_tokens() == before
