"""An answer as files, and as a program: what is copied from the page asks the same question."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from tests.web.conftest import CONFIG, Service, started
from tests.web.pages.conftest import Page, Visit


def copied(page: Page) -> dict[str, str]:
    """The code on a page, as it is copied."""
    texts = [text for text in page.words if text.startswith(("curl", "import"))]
    assert len(texts) == 2
    return {"curl": texts[0], "Python": texts[1]}


def sent_by_curl(text: str) -> Any:
    """What a shell would hand to curl: its arguments."""
    shown = f"curl() {{ {sys.executable} -c 'import json, sys; print(json.dumps(sys.argv[1:]))' \"$@\"; }}\n{text}"
    done = subprocess.run(
        ["bash", "-c", shown], env={"TOKEN": "t"}, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    arguments = json.loads(done.stdout)
    return arguments[1], json.loads(arguments[arguments.index("-d") + 1])


def sent_by_python(text: str) -> Any:
    sent: list[Any] = []
    given = text.replace(
        "urllib.request.urlopen(request)", "(sent.append(request), __import__('io').StringIO('{\"items\": 1}'))[1]"
    )
    exec(given.replace('os.environ["TOKEN"]', '"t"'), {"sent": sent})  # the page's own program, but for the network
    return sent[0].full_url, json.loads(sent[0].data)


@pytest.mark.long
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"where": "country = 'DE' and country <> '\"$x`\\'"},
        {"item": ["title", "genre"], "counts": True, "epsilon": "0.7"},
        {"epsilon": "1/3", "k_bar": 50, "mechanism": "LimitedDomain"},
        {"contribution": 1, "ordered": False},
        {"epsilon": None, "delta": None},
        {"k_bar": 40},
    ],
)
def test_what_is_copied_asks_the_same_question(visit: Visit, service: Service, changes: dict[str, Any]) -> None:
    copied_asks_the_same(visit, service, changes)


LISTS = 'groups = ["country"]\ndomains = { titles = "titles.csv", countries = "countries.csv" }\nversion'


@pytest.mark.parametrize(
    "changes",
    [
        {"domain": "titles"},
        {"by": "country", "groups": "countries"},
        {"by": "country", "groups": ["LU", "DE"]},
        {"by": "country", "groups": ["LU", "DE"], "domain": "titles"},
    ],
)
def test_public_lists_are_copied_too(folder: Path, changes: dict[str, Any]) -> None:
    (folder / "titles.csv").write_text("title\nRivers\nnobody reads it\n")
    (folder / "countries.csv").write_text("country\nLU\nFR\n")
    (folder / "crestline.toml").write_text(CONFIG.replace("version", LISTS, 1))
    with started(folder) as service:
        service.top("bob")  # so that Ann's number is not the ledger's
        copied_asks_the_same(Visit(service), service, changes)


def copied_asks_the_same(visit: Visit, service: Service, changes: dict[str, Any]) -> None:
    asked = service.top(**changes)
    assert asked.status_code == 200, asked.text
    visit.sign_in("ann")
    code = copied(visit.get(f"/answers/{asked.json()['id']}"))
    by_curl, by_python = sent_by_curl(code["curl"]), sent_by_python(code["Python"])
    assert by_curl == by_python
    url, body = by_curl
    assert url == "https://testserver/v1/datasets/loans/top"
    spent = service.spent()
    again = service.client.post(url.removeprefix("https://testserver"), json=body, headers=service.headers("ann"))
    assert again.status_code == 200, again.text
    assert (again.json()["stored"], again.json()["id"]) == (True, asked.json()["id"])
    assert service.spent() == spent


def test_an_answer_as_files(visit: Visit, service: Service) -> None:
    asked = service.top(counts=True).json()
    visit.sign_in("ann")
    page = visit.get(f"/answers/{asked['id']}")
    links = {link["href"] for link in page.all("a")}
    response = visit.client.get(f"/answers/{asked['id']}.csv")
    assert response.headers["content-disposition"] == f'attachment; filename="answer-{asked["id"]}.csv"'
    rows = list(csv.reader(io.StringIO(response.text)))
    assert rows[0] == ["rank", "title", "count", "low", "high"]
    assert [row[1] for row in rows[1:]] == asked["items"]
    assert [row[2] for row in rows[1:]] == [str(count) for count in asked["counts"]]
    whole = visit.client.get(f"/answers/{asked['id']}.json").json()
    assert whole["items"] == asked["items"]
    assert {f"/answers/{asked['id']}.csv", f"/answers/{asked['id']}.json"} <= links


def test_files_are_for_whom_the_answer_is_for(visit: Visit, service: Service) -> None:
    foreign = service.top("bob").json()["id"]
    for path in (f"/answers/{foreign}.csv", f"/answers/{foreign}.json"):
        assert "Sign in" in visit.get(path).text
    visit.sign_in("ann")
    for path in (f"/answers/{foreign}.csv", f"/answers/{foreign}.json", f"/answers/{foreign}"):
        visit.get(path)
        assert visit.status == 403
