"""`POST /v1/datasets/{name}/price`: what `top` would cost, for its caller, at no charge and not without limit."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.conftest import Service

from crestline.price.encoding import decode_price, encode_price

pytestmark = pytest.mark.long

ASKED: dict[str, Any] = {"k": 2, "item": "title", "epsilon": 1, "delta": "1e-6"}


def priced(service: Service, who: str | None = "ann", **changes: Any) -> Any:
    return service.client.post("/v1/datasets/loans/price", json={**ASKED, **changes}, headers=service.headers(who))


def test_a_price_holds_and_shows_the_accounts_of_its_caller_alone(service: Service) -> None:
    body = priced(service).json()
    price = decode_price(body)
    assert encode_price(price) == body
    assert ["ann" in charge.account for charge in price.charges] == [True]
    assert "ann" not in priced(service, "olga").json()["charges"][0]["account"]
    before = service.spent()
    assert service.top().status_code == 200
    paid = service.spent() - before
    assert price.charges[0].least.loss <= paid.loss <= price.charges[0].most.loss
    assert priced(service).json()["stored"]
    assert not priced(service, "bob").json()["stored"]  # another's answer is not his


@pytest.mark.parametrize(
    ("changes", "status"),
    [({"item": "salary"}, 403), ({"k": 10**6}, 422), ({"wehre": "x"}, 422), ({"epsilon": 50}, 200)],
)
def test_what_may_not_be_asked_has_no_price(service: Service, changes: dict[str, Any], status: int) -> None:
    response = priced(service, **changes)
    assert response.status_code == status
    assert response.json().get("fits", False) is False
    assert service.spent().loss == 0


def test_prices_are_unpaid_work_which_has_an_end(service: Service) -> None:
    service.state.free_work.take(service.tokens["ann"].split("_")[1], 10**6)
    assert priced(service).status_code == 429
    explain = {"dataset": "loans", "sql": "EXPLAIN SELECT title FROM loans GROUP BY 1"}
    assert service.client.post("/v1/sql", json=explain, headers=service.headers("ann")).status_code == 429
    assert priced(service, "bob").status_code == 200
