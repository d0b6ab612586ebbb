"""SQL over HTTP: the same journey as a question of fields, with its permissions, charges and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.conftest import Service

pytestmark = pytest.mark.long

TOP = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-6) title, COUNT(*) AS n FROM loans GROUP BY 1 LIMIT 2"
)


def sent(service: Service, sql: str, who: str | None = "ann", **more: Any) -> Any:
    body = {"dataset": "loans", "sql": sql, **more}
    return service.client.post("/v1/sql", json=body, headers=service.headers(who))


def test_a_query_is_asked_once_and_then_served(service: Service) -> None:
    response = sent(service, TOP)
    assert response.status_code == 200, response.text
    first = response.json()
    assert first["columns"] == ["title", "n"]
    assert {row[0] for row in first["rows"]} <= {"Rivers", "Bridges"}
    assert first["notes"] == ["counts users, not rows"]
    before = service.spent()
    again = sent(service, TOP).json()
    assert (again["rows"], again["answer"]["stored"]) == (first["rows"], True)
    assert service.spent() == before


@pytest.mark.parametrize(
    ("sql", "status", "words"),
    [
        ("SELECT 1", 200, ""),
        ("SELECT title, COUNT(*) FROM loans GROUP BY 1 LIMIT 0", 200, ""),
        ("SELECT * FROM loans", 422, "rows are not shown"),
        ("SELECT secret, COUNT(*) FROM loans GROUP BY 1", 422, "no column 'secret'"),
        ("SELECT country, COUNT(*) FROM loans GROUP BY 1", 403, ""),
        ("EXPLAIN SELECT title FROM loans GROUP BY 1", 200, "of the budget"),
        ("SELECT title, COUNT(*) FROM loans WHERE $1 = $2 GROUP BY 1", 422, "no value"),
    ],
)
def test_what_is_not_asked_costs_nothing(service: Service, sql: str, status: int, words: str) -> None:
    response = sent(service, sql)
    assert response.status_code == status
    assert words in response.text
    assert service.spent().loss == 0


def test_a_stranger_and_a_foreign_data_set_get_the_one_refusal(service: Service) -> None:
    assert sent(service, TOP, who=None).status_code == 403
    assert sent(service, TOP, dataset="nowhere").status_code == 403
