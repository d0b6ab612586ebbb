"""Questions with groups over HTTP and in the dashboard: the owner says by which columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crestline.errors import QuestionError
from tests.web.conftest import CONFIG, Service, started
from tests.web.pages.conftest import Visit

pytestmark = pytest.mark.long

GROUPED = CONFIG.replace('filters = ["country"]', 'filters = ["country"]\ngroups = ["country", "genre"]')


@pytest.fixture
def service(folder: Path) -> Iterator[Service]:
    (folder / "crestline.toml").write_text(GROUPED)
    with started(folder) as running:
        yield running


@pytest.fixture
def visit(service: Service) -> Visit:
    return Visit(service)


@pytest.mark.long
def test_every_group_is_answered_and_tells_its_name(service: Service) -> None:
    answer = service.top(by="country", item="title").json()
    assert [group["group"] for group in answer["groups"]] == ["DE", "FR"]
    assert [group["items"][0] for group in answer["groups"]] == ["Rivers", "Rivers"]
    assert answer["items"][0] == ["DE", "Rivers"]
    assert "for every value of 'country'" in answer["explanation"]
    assert service.get(f"/v1/answers/{answer['id']}").json()["groups"] == answer["groups"]
    assert service.top(by="country", item="title").json()["stored"]
    assert not service.top(by="country", item="title", groups_per_user=2).json()["stored"]
    assert not service.top(by="country", item="title", groups=["DE"]).json()["stored"]


def test_public_groups_are_all_there(service: Service) -> None:
    answer = service.top(by="country", groups=["DE", "LU"]).json()
    assert {group["group"]: len(group["items"]) for group in answer["groups"]} == {"DE": 2, "LU": 0}


def test_a_bound_takes_thresholds(service: Service) -> None:
    bounded = service.top(by="country", item="title", contribution=1).json()
    assert bounded["mechanism"]["name"] == "Observed"
    assert [group["group"] for group in bounded["groups"]] == ["DE", "FR"]


def test_users_with_any_number_of_items_have_the_sieve(service: Service) -> None:
    sieved = service.top(by="country", item="title", mechanism="Sieve").json()
    assert sieved["mechanism"]["name"] == "Sieve"
    assert [group["group"] for group in sieved["groups"]] == ["DE", "FR"]
    assert [group["items"][0] for group in sieved["groups"]] == ["Rivers", "Rivers"]


def test_public_lists_of_groups_and_items_answer_every_group(folder: Path) -> None:
    (folder / "titles.csv").write_text("title\nRivers\nnobody reads it\n")
    (folder / "crestline.toml").write_text(
        GROUPED.replace("version", 'domains = { titles = "titles.csv" }\nversion', 1)
    )
    with started(folder) as service:
        refused = service.top(by="country", item="title", domain="titles")
        assert (refused.status_code, "groups=" in refused.json()["error"]["message"]) == (422, True)
        assert service.spent().loss == 0
        listed = service.top(by="country", item="title", k=2, domain="titles", groups=["DE", "LU"]).json()
        assert {group["group"]: len(group["items"]) for group in listed["groups"]} == {"DE": 2, "LU": 2}
        assert listed["groups"][0]["items"][0] == "Rivers"


def test_a_column_that_the_owner_did_not_list_is_forbidden(service: Service) -> None:
    for by in ("salary", "nothing", ["country", "salary"]):
        refused = service.top(by=by)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert service.top(by="country", groups="no such list").status_code == 403
    assert service.spent().loss == 0


@pytest.mark.parametrize(
    "changes", [{"groups_per_user": 2}, {"by": "country", "groups": [1.5]}, {"by": "genre", "item": "genre"}]
)
def test_what_does_not_go_together_is_refused_at_no_cost(service: Service, changes: dict[str, Any]) -> None:
    assert service.top(**changes).status_code == 422
    assert service.spent().loss == 0


def test_an_analyst_is_shown_which_columns_make_groups(service: Service) -> None:
    (shown,) = service.get("/v1/datasets").json()["datasets"]
    assert shown["groups"] == ["country", "genre"]


def test_a_group_column_that_is_not_there_stops_the_service(folder: Path) -> None:
    (folder / "crestline.toml").write_text(GROUPED.replace('"genre"]\nversion', '"gnre"]\nversion'))
    with pytest.raises(QuestionError, match="gnre"), started(folder):
        pass


@pytest.mark.long
def test_the_form_offers_groups_and_the_page_has_a_card_for_each(visit: Visit) -> None:
    visit.sign_in("ann")
    form = visit.get("/datasets/loans")
    assert [box["value"] for box in form.all("input") if box.get("name") == "by"] == ["country", "genre"]
    page = visit.ask(by="country", groups_per_user="1", counts="yes")
    assert visit.status == 200
    assert len(page.all("article")) == 2
    assert "items in 2 groups" in page.text
    assert "Each 'reader' counts in one group by 'country'" in page.text
    assert "for every value of 'country'" in page.text
    assert "All 2 groups" not in page.text


def test_a_forecast_keeps_what_was_ticked(visit: Visit) -> None:
    visit.sign_in("ann")
    page = visit.ask(by="genre", groups_per_user="2", do="forecast", users="1000")
    ticked = [box["value"] for box in page.all("input") if box.get("name") == "by" and "checked" in box]
    assert ticked == ["genre"]
    assert "Nothing was asked yet" in page.text
    assert "Groups of each user: write a whole number" in visit.ask(by="genre", groups_per_user="none").text


def test_many_groups_come_with_a_list_of_them(folder: Path) -> None:
    rows = [f"r{place}-{reader},Rivers,genre {place},DE,1" for place in range(15) for reader in range(300)]
    (folder / "loans.csv").write_text("reader,title,genre,country,salary\n" + "\n".join(rows) + "\n")
    (folder / "crestline.toml").write_text(GROUPED)
    with started(folder) as service:
        visit = Visit(service)
        visit.sign_in("ann")
        page = visit.ask(by="genre", groups_per_user="1")
        assert len(page.all("article")) == 15
        assert "All 15 groups" in page.text
        assert {"href": "#group-14"} in page.all("a")
