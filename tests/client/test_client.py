"""The client is one more face: the same calls on a local data set and on a service give the same results and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import CONFIG, started, write_loans
from tests.web.test_periods import BY_PERIOD

import crestline as cl
from crestline.client.http import ATTEMPTS, Response, Service
from crestline.client.remote import RemoteConnection, RemoteDataset
from crestline.errors import BudgetExhausted, ParameterError, QuestionError, SourceError
from crestline.ledger.budget_fractions import Remaining
from crestline.session import Dataset
from crestline.sql_questions.refusals import SqlError

pytestmark = pytest.mark.long

ASKED: dict[str, Any] = {"k": 2, "item": "title", "epsilon": 1, "delta": "1e-6"}
TOP = "SELECT title, COUNT(*) AS n FROM loans GROUP BY title ORDER BY n DESC LIMIT 2"


@pytest.fixture(params=["local", "client"])
def loans(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Dataset | RemoteDataset]:
    """The same data under the same budget, here and behind a service."""
    write_loans(tmp_path / "loans.csv")
    if request.param == "local":
        budget = cl.Budget(epsilon=4, delta="1e-5")
        yield cl.connect(str(tmp_path / "loans.csv")).dataset("loans", user="reader", budget=budget, version="2026-11")
        return
    (tmp_path / "crestline.toml").write_text(CONFIG)
    with started(tmp_path) as running:
        service = Service("http://testserver", running.tokens["ann"], running.client)  # type: ignore[arg-type] # a client
        yield RemoteConnection(service).dataset("loans")


def test_an_answer_costs_at_most_its_price_and_is_free_the_second_time(loans: Dataset | RemoteDataset) -> None:
    before, price = loans.remaining, loans.price(**ASKED)
    assert price.fits
    assert not price.stored
    answer = loans.top(**ASKED)
    assert set(answer.items) <= {"Rivers", "Bridges"}
    assert answer.bill is not None
    assert answer.guarantee == price.guarantee
    after = loans.remaining
    assert price.least.loss <= before.loss - after.loss <= price.most.loss
    assert isinstance(after, Remaining)
    assert 0 < after.share < before.share == 1
    again = loans.top(**ASKED)
    assert again.stored
    assert again.items == answer.items
    assert loans.remaining == after
    assert loans.price(**ASKED).stored
    assert loans.price(**ASKED).most.loss == 0


def test_counts_groups_and_exact_numbers_arrive_as_they_were_released(loans: Dataset | RemoteDataset) -> None:
    answer = loans.top(k=1, item="title", counts=True, epsilon=Fraction(1, 2), delta=1e-6)
    assert answer.question.epsilon == Fraction(1, 2)
    assert all(isinstance(count, Fraction) for count in answer.counts or ())
    assert answer.intervals is None or len(answer.intervals) == len(answer)
    assert cl.Answer.from_dict(answer.to_dict()).items == answer.items


def test_sql_is_the_same_question(loans: Dataset | RemoteDataset) -> None:
    result = loans.sql(TOP)
    assert result.columns == ("title", "n")
    assert result.notes == ("counts users, not rows",)
    assert result.answer is not None
    assert [row[0] for row in result] == list(result.answer.listed_items)
    asked = loans.sql(TOP.replace("LIMIT 2", "LIMIT 1"), epsilon=Fraction(1, 2), delta=1e-6)
    assert asked.answer is not None
    assert asked.answer.question.epsilon == Fraction(1, 2)
    with pytest.raises(QuestionError, match="leave one of them out"):
        loans.sql(TOP.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1)"), epsilon=1)
    left = loans.remaining
    assert loans.sql(TOP).rows == result.rows
    assert loans.sql("SELECT 1").rows == ((1,),)
    (line, *_) = loans.sql("EXPLAIN SELECT title FROM loans WHERE country = $1 GROUP BY 1", parameters=["DE"]).rows
    assert "of the budget" in line[0]
    assert loans.remaining == left


REFUSALS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "unknown argument": (lambda data: data.top(k=1, itm="title"), TypeError, "itm: no such argument"),
    "epsilon": (lambda data: data.top(k=1, item="title", epsilon=0), ParameterError, "epsilon"),
    "too dear": (lambda data: data.top(k=1, item="title", epsilon=90), BudgetExhausted, "budget"),
    "column": (lambda data: data.top(k=1, item="absent"), QuestionError, "absent|not there"),
    "filter": (lambda data: data.top(k=1, item="title", where="country ="), QuestionError, "where"),
    "rows": (lambda data: data.sql("SELECT * FROM loans"), SqlError, "rows are not shown"),
    "join": (lambda data: data.sql("SELECT title FROM loans JOIN b USING (x) GROUP BY 1"), SqlError, "view"),
    "no parameter": (lambda data: data.sql("SELECT title FROM loans WHERE country = $1 GROUP BY 1"), SqlError, "value"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_has_the_same_class_and_costs_nothing(loans: Dataset | RemoteDataset, case: str) -> None:
    call, kind, words = REFUSALS[case]
    before = loans.remaining
    with pytest.raises(kind, match=words) as refusal:
        call(loans)
    assert loans.remaining == before
    if isinstance(refusal.value, SqlError):
        assert refusal.value.sqlstate in ("42501", "0A000", "42601")


def test_a_report_is_asked_once_for_each_period(tmp_path: Path) -> None:
    rows = [f"r{reader},{'Rivers' if month == 9 else 'Bridges'},nature,DE,2025-{month:02}-05"
            for reader in range(2000) for month in (9, 10)]  # fmt: skip
    (tmp_path / "loans.csv").write_text("\n".join(["reader,title,genre,country,day", *rows]) + "\n")
    (tmp_path / "crestline.toml").write_text(BY_PERIOD)
    with started(tmp_path) as running:
        service = Service("http://testserver", running.tokens["ann"], running.client)  # type: ignore[arg-type] # a client
        loans = RemoteConnection(service).dataset("loans")
        first = cl.report(loans, every="quarter", since="2025-Q3", k=1, item="title", epsilon=1, delta="1e-6")
        assert [edition.items for edition in first.editions[:2]] == [("Rivers",), ("Bridges",)]
        assert first.asked == len(first) >= 5
        again = cl.report(loans, every="quarter", since="2025-Q3", k=1, item="title", epsilon=1, delta="1e-6")
        assert again.asked == 0
        assert [edition.items for edition in again.editions] == [edition.items for edition in first.editions]
        with pytest.raises(QuestionError, match="ahead"):
            cl.report(loans, every="quarter", since="2025-Q3", k=1, item="title", ahead=1)


class _Broken:
    """An HTTP client whose first calls fail after the service has answered them."""

    def __init__(self, inner: Any, failures: int) -> None:
        self.inner, self.failures, self.keys = inner, failures, list[str]()

    def request(self, method: str, url: str, **more: Any) -> Any:
        response = self.inner.request(method, url, **more)
        self.keys.append(more["headers"].get("Idempotency-Key", ""))
        if len(self.keys) <= self.failures:
            raise ConnectionResetError("the answer was lost")
        return response


def test_a_request_whose_answer_was_lost_is_sent_again_and_paid_once(tmp_path: Path) -> None:
    write_loans(tmp_path / "loans.csv")
    (tmp_path / "crestline.toml").write_text(CONFIG.replace('version = "2026-11"\n', ""))
    with started(tmp_path) as running:
        broken, waits = _Broken(running.client, 2), list[float]()
        service = Service("http://testserver", running.tokens["ann"], broken, waits.append)  # type: ignore[arg-type] # a client
        known = RemoteConnection(Service("http://testserver", running.tokens["ann"], running.client)).dataset("loans")  # type: ignore[arg-type] # likewise
        answer = RemoteDataset(service, "loans", known.description_fields).top(**ASKED)
        assert answer.bill is not None
        assert len(broken.keys) == 3
        assert len(set(broken.keys)) == 1
        assert len(waits) == 2
        ledger = running.state.datasets["loans"].ledger
        assert [entry.kind for entry in ledger.history(9) if entry.kind in ("settled", "reserved")].count(
            "settled"
        ) == 1
        lost = _Broken(running.client, 99)
        with pytest.raises(SourceError, match=f"did not answer {ATTEMPTS} times"):
            Service("http://testserver", "no", lost, waits.append).call("GET", "/v1/budget")  # type: ignore[arg-type] # likewise
        assert len(lost.keys) == ATTEMPTS


@pytest.mark.parametrize(
    ("address", "token", "words"),
    [
        ("http://top.example.org", "cl_x", "https"),
        ("top.example.org", "cl_x", "https"),
        ("https://top.example.org", "", "token"),
        ("https://top.example.org", "a\nb", "token"),
    ],
)
def test_an_address_that_would_show_the_token_is_refused(address: str, token: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        cl.connect(address, token=token)
    with pytest.raises(ParameterError, match="ledger of its own"):
        cl.connect("https://top.example.org", token="cl_x", ledger="ledger.db")  # type: ignore[call-overload] # on purpose


def test_the_token_is_in_no_text() -> None:
    connection = cl.connect("https://top.example.org/", token="cl_secret")
    assert "cl_secret" not in repr(connection)
    assert connection.service.url == "https://top.example.org"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (402, "budget_exhausted", BudgetExhausted),
        (422, "0A000", SqlError),
        (422, "42P01", SqlError),
        (422, "bad_question", QuestionError),
        (403, "forbidden", QuestionError),
        (503, "source_unavailable", SourceError),
        (500, "", SourceError),
    ],
)
def test_an_error_of_the_service_is_raised_as_its_class(status: int, code: str, kind: type[Exception]) -> None:
    assert type(Response(status, {"error": {"code": code, "message": "m"}}).to_error()) is kind
