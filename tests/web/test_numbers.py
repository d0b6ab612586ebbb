"""The numbers that an analyst is told count their own questions: what others ask changes none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import CONFIG, started, write_loans
from tests.web.pages.conftest import Visit


def made(folder: Path) -> Path:
    folder.mkdir()
    write_loans(folder / "loans.csv")
    (folder / "crestline.toml").write_text(CONFIG)
    return folder


def everything_seen(folder: Path, others: int) -> list[Any]:
    """What Ann is given that has a number in it, where Bob asks so many questions before each of hers."""
    seen: list[Any] = []
    with started(folder) as running:

        def bob() -> None:
            for number in range(others):
                running.top("bob", epsilon="0.01", where=f"country = 'B{number}'")
                running.top("bob", epsilon=50)  # refused

        for asked in ({"k": 1}, {"k": 2}, {"k": 1}, {"epsilon": 50}, {"k": 3, "key": "one"}, {"k": 3, "key": "one"}):
            bob()
            given = running.top("ann", **{"epsilon": "0.1", **asked})  # type: ignore[arg-type] # and a key
            body = given.json()
            seen.append(
                (given.status_code, body.get("id"), (body.get("bill") or {}).get("receipt"), body.get("stored"))
            )
            seen.append(sorted(given.headers.keys() - {"content-length"}))
        seen += [running.get(f"/v1/answers/{number}").status_code for number in range(8)]
        seen.append(running.get("/v1/budget").json()["budgets"][0]["usual_questions"])
        visit = Visit(running)
        visit.sign_in("ann")
        for path in ("/history", "/history?before=3", "/budget", "/answers/1", "/"):
            links = [link["href"] for link in visit.get(path).all("a")]
            seen.append([link for link in links if "answers" in link or "before" in link])
    return seen


@pytest.mark.long
def test_nothing_that_an_analyst_sees_counts_the_questions_of_others(tmp_path: Path) -> None:
    alone = everything_seen(made(tmp_path / "alone"), others=0)
    assert [one[1] for one in alone[:12:2]] == [1, 2, 1, None, 5, 5]
    assert everything_seen(made(tmp_path / "crowd"), others=2) == alone
