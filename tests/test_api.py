"""The Python face from several threads: one data set, one budget, one source of entropy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import crestline as cl


def test_threads_may_share_a_data_set(tmp_path: Path) -> None:
    rows = [f"u{user},{item},{user % 4}" for user in range(2000) for item in ("Rivers", "Bridges")]
    (tmp_path / "loans.csv").write_text("\n".join(["user,item,part", *rows]) + "\n")
    shop = cl.connect(str(tmp_path / "loans.csv"), ledger=tmp_path / "books.db")
    loans = shop.dataset("loans", user="user", budget=cl.Budget(epsilon=8, delta=1e-4))

    def ask(number: int) -> cl.Answer:
        return loans.top(k=2, item="item", where=f"part <> '{number}'", epsilon="0.5", delta="1e-7")

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(24)))
    assert len({answer.bill.receipt for answer in answers if answer.bill}) == 24  # each was paid for, once
    assert all(set(answer.items) <= {"Rivers", "Bridges"} for answer in answers)
    assert loans.ledger.verify().ok
    assert loans.ledger.open_reservations() == []
    loans.ledger.close()
