"""The OpenAPI description against the service: whatever is sent, nothing fails, and every response is described.

schemathesis makes requests that follow the description and requests that do not. Budgets are charged for real: they run
out on the way, which is described as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from tests.patience import PATIENCE
from tests.web.conftest import Service, started

from crestline.mechanisms.catalogue import CATALOGUE
from crestline.web.access.rate_limit import RateLimit

pytestmark = pytest.mark.statistics

QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
TOP = "/v1/datasets/{name}/top"
PATHS = (TOP, "/v1/datasets", "/v1/budget", "/v1/answers/{id}", "/healthz", "/readyz", "/metrics")
INPUTS = [path for path in PATHS if path.startswith("/v1/")]  # the others take nothing that could be wrong


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Service]:
    """No rate limits: every request is sent again without a token, and with a wrong one."""
    monkeypatch.setattr(RateLimit, "wait", lambda self, name, amount=1.0: 0.0)
    with started(folder) as running:
        yield running


@pytest.fixture
def description(service: Service) -> Any:
    described = schemathesis.openapi.from_asgi("/openapi.json", service.client.app)
    described.config.request_timeout = PATIENCE  # its own ten seconds are not enough on a busy machine
    checks = described.config.checks
    checks.negative_data_rejection.expected_statuses = ["400", "402", "403", "413", "422"]
    # What the description allows may still not fit a budget or a data set.
    checks.positive_data_acceptance.expected_statuses = ["2xx", "402", "403", "422"]
    return described


def sent(description: Any, service: Service, path: str, mode: GenerationMode, examples: int) -> Counter[int]:
    """How often each status came back; a response that is not described fails the test."""
    operation = description[path]["POST" if path == TOP else "GET"]
    statuses: Counter[int] = Counter()

    @settings(max_examples=examples, suppress_health_check=QUIET)
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        headers = service.headers("olga") if mode is GenerationMode.POSITIVE else None
        statuses[case.call_and_validate(headers=headers).status_code] += 1

    run()
    return statuses


@pytest.mark.parametrize("path", PATHS)
def test_what_follows_the_description_is_met_as_described(description: Any, service: Service, path: str) -> None:
    statuses = sent(description, service, path, GenerationMode.POSITIVE, 25)
    expected = {200} if "{" not in path else {200, 402, 403, 422}
    assert set(statuses) <= expected


@pytest.mark.parametrize("path", INPUTS)
def test_what_does_not_follow_it_is_refused_as_described(description: Any, service: Service, path: str) -> None:
    statuses = sent(description, service, path, GenerationMode.NEGATIVE, 25)
    assert set(statuses) <= {400, 403, 413, 422}


NUMBERS = st.one_of(
    st.none(),
    st.sampled_from(["0.1", "1", 1, 0.5, "1e-7", "1e-39", "1/3", "nan", "-0", "1_0", " 1 ", "١", 1e-6, 100, 10**400]),
    st.floats(allow_nan=False, allow_infinity=False),  # the client cannot write others as JSON
    st.text(max_size=8),
)
FILTERS = st.one_of(
    st.none(),
    st.sampled_from(["country = 'DE'", "country in ('a', 'b')", "country is null", "country = 5", "not country"]),
    st.text("country='DE()<>,andornotinisnull ", max_size=30),
    st.text(max_size=20).map(lambda text: "country = '" + text.replace("'", "''") + "'"),
)
QUESTIONS = st.fixed_dictionaries(
    {"k": st.integers(1, 60), "item": st.sampled_from(["title", "genre", ["title", "genre"], ["title", "title"]])},
    optional={
        "where": FILTERS,
        "epsilon": NUMBERS,
        "delta": NUMBERS,
        "mechanism": st.sampled_from(["auto", "Nobody", *(line.name for line in CATALOGUE)]),
        "k_bar": st.one_of(st.none(), st.integers(1, 2500)),
        "counts": st.booleans(),
        "coverage": st.booleans(),
    },
)


@pytest.mark.parametrize("examples", [40, pytest.param(80, marks=pytest.mark.full)])
def test_whatever_an_analyst_asks_is_answered_or_refused_as_described(
    description: Any, service: Service, examples: int
) -> None:
    """Questions that pass the gates, so that choosing, accounting, the filter and the ledger are met as well."""
    operation = description[TOP]["POST"]
    statuses: Counter[int] = Counter()

    @settings(max_examples=examples, suppress_health_check=QUIET)
    @given(question=QUESTIONS, key=st.none() | st.text("abc", min_size=1, max_size=1))
    def run(question: dict[str, Any], key: str | None) -> None:
        case = operation.Case(path_parameters={"name": "loans"}, body=question, media_type="application/json")
        statuses[case.call_and_validate(headers=service.headers("ann", key)).status_code] += 1

    run()
    assert set(statuses) <= {200, 402, 403, 409, 422}
    assert min(statuses[200], statuses[422]) > 5  # both sides were met
    assert service.state.datasets["loans"].ledger.verify().ok
