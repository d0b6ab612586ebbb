"""A browser of sorts."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from tests.web.conftest import Service


class Page(HTMLParser):
    """A page as far as the tests look at it: every element with its attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, Any]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def hidden(self, name: str) -> str:
        return str(next(field["value"] for field in self.all("input") if field.get("name") == name))


class Visit:
    """Somebody with a browser that keeps cookies and follows redirects."""

    def __init__(self, service: Service) -> None:
        self.client = service.client
        self.client.base_url = self.client.base_url.copy_with(scheme="https")
        self.client.headers["accept"] = "text/html"
        self.tokens = service.tokens
        self.status = 0
        self.headers: Any = {}

    def _seen(self, response: Any) -> Page:
        self.status, self.headers, self.url = response.status_code, response.headers, response.url.path
        return Page(response.text)

    def get(self, path: str) -> Page:
        return self._seen(self.client.get(path))

    def post(self, path: str, headers: Any = None, **fields: Any) -> Page:
        return self._seen(self.client.post(path, data=fields, headers=headers))

    def sign_in(self, who: str) -> Page:
        return self.post("/sign-in", token=self.tokens.get(who, who))

    def ask(self, dataset: str = "loans", **changes: Any) -> Page:
        key = self.get(f"/datasets/{dataset}").hidden("key")
        fields = {"key": key, "item": "title", "k": "2", "epsilon": "1", "delta": "1e-6", "do": "ask"}
        return self.post(f"/datasets/{dataset}", **{**fields, **changes})


@pytest.fixture
def visit(request: pytest.FixtureRequest) -> Visit:
    return Visit(request.getfixturevalue("service"))
