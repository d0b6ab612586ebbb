"""A service with everything that a page may show: the owner's words, periods, groups, sums, a report, and names that
are meant to do harm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from crestline.cli.main import run
from crestline.ledger.receipt import utc_now
from crestline.periods.calendar import first_day, period_index, period_label
from tests.web.conftest import Service, started
from tests.web.pages.conftest import Page, Visit

HARM = "<script>alert(1)</script>"
STEERING = "\u202eabc"
NAMES = (HARM, STEERING, "Linen tea towel", '"><img src=x>')
CONFIG = """\
ledger = "ledger.db"

[limits]
requests_per_minute = 6000
k = 50

[datasets.orders]
source = "orders.csv"
user = "customer"
items = ["product", "category"]
filters = ["country"]
groups = ["country"]
sums = ["amount"]
version = "<b>1"
title = "Shop <orders>"
description = "What customers bought & kept. <i>One row</i> for each line of an order."
words = {{ user = "<u>customers", product = "products", country = ["country", "countries"], verb = "bought by" }}
budget = {{ epsilon = 8, delta = 1e-4, per = "month", time = "day" }}
public = {{ users = 3000, per_user = 3, shape = "power:1" }}

[datasets.loans]
source = "orders.csv"
user = "customer"
items = ["product"]
version = "1"
budget = {{ epsilon = 8, delta = 1e-4 }}

[analysts.ann.budgets]
orders = {{ epsilon = 4, delta = 1e-5, per = "month", time = "day" }}
loans = {{ epsilon = 4, delta = 1e-5 }}

[analysts.bob.budgets]
loans = {{ epsilon = 4, delta = 1e-5 }}

[analysts.olga]
role = "owner"

[reports.monthly]
dataset = "orders"
every = "month"
since = "{since}"
folder = "published"
question = {{ k = 3, item = "product", epsilon = 1, delta = 1e-6 }}
"""


def ended_month() -> str:
    """The label of the last month that has ended."""
    return period_label("month", period_index("month", utc_now().date()) - 1)


def _write_orders(path: Path, day: date) -> None:
    rows = ["customer,product,category,country,amount,day"]
    for customer in range(3000):
        for place, name in enumerate(NAMES[: 4 - customer % 4]):
            quoted = '"' + name.replace('"', '""') + '"'
            rows.append(f"c{customer},{quoted},{'ab'[place % 2]},{('DE', 'FR')[customer % 3 == 0]},{place + 1},{day}")
    path.write_text("\n".join(rows) + "\n")


@contextmanager
def shop(folder: Path) -> Iterator[Service]:
    """The service, with a published edition of its report and a few questions by ann."""
    month = ended_month()
    _write_orders(folder / "orders.csv", first_day("month", period_index("month", date.fromisoformat(f"{month}-01"))))
    (folder / "crestline.toml").write_text(CONFIG.format(since=month))
    assert run(["report", "due", str(folder / "crestline.toml"), "--format", "csv"]) == 0
    with started(folder) as service:
        yield service


def ask_everything(service: Service) -> dict[str, int]:
    """Ask one question of each kind; the numbers of the answers by kind."""
    month = ended_month()
    asked: dict[str, dict[str, Any]] = {
        "answer": {"k": 3, "counts": True},
        "groups": {"k": 2, "counts": True, "by": "country"},
        "empty": {
            "k": 2,
            "epsilon": "0.00001",
            "delta": "1e-30",
            "mechanism": "LimitedDomain",
            "where": "country = 'FR'",
        },
        "names": {"k": 2, "mechanism": "LimitedDomain"},
    }
    found = {}
    for name, fields in asked.items():
        given = service.top(dataset="orders", **{"item": "product", "period": month, **fields})
        assert given.status_code == 200, given.text
        found[name] = int(given.json()["id"])
    assert service.top(dataset="orders", item="product", period=month, epsilon=90).status_code == 402
    return found


def every_page(service: Service) -> Iterator[tuple[str, str, Page]]:
    """Every page that there is: a name, its text as it is sent, and read."""
    numbers, visit = ask_everything(service), Visit(service)

    def shown(name: str, path: str) -> tuple[str, str, Page]:
        response = visit.client.get(path)
        return name, response.text, Page(response.text)

    yield shown("sign-in", "/")
    visit.sign_in("ann")
    paths = {"home": "/", "ask": "/datasets/orders", "ask-plain": "/datasets/loans", "history": "/history"}
    paths |= {"budget": "/budget", "reports": "/reports", "report": "/reports/monthly", "how": "/how"}
    paths |= {"not-found": "/nowhere", "forbidden": "/answers/9999", "not-held": f"/history?find={HARM}"}
    paths |= {f"answer-{name}": f"/answers/{number}" for name, number in numbers.items()}
    for name, path in paths.items():
        yield shown(name, path)
    wrong = {"item": HARM, "other": HARM, "where": f"country = {HARM}", "epsilon": HARM, "shape": HARM, "users": HARM}
    for name, fields in {"errors": wrong, "refused": {"item": "product", "k": "3", "epsilon": "90"}}.items():
        form = {"key": "k", "period": ended_month(), "do": "ask", **fields}
        text = visit.client.post("/datasets/orders", data=form).text
        yield f"ask-{name}", text, Page(text)
    visit.client.cookies.clear()
    visit.sign_in("olga")
    for name, path in {
        "home-owner": "/",
        "budget-owner": "/budget",
        "history-owner": "/history",
        "owner": "/owner",
    }.items():
        yield shown(name, path)
    text = visit.client.post("/owner/tokens", data={"analyst": "ann", "expires": "2d"}).text
    yield "token", text, Page(text)
    text = visit.client.post("/owner/tokens", data={"analyst": "ann", "expires": HARM}).text
    yield "owner-errors", text, Page(text)
