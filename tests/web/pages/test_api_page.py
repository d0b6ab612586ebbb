"""/docs: made on this server, with everything the description names, and nothing from another host."""

from __future__ import annotations

import re

from tests.web.conftest import Service


def test_the_page_needs_no_other_host(service: Service) -> None:
    page = service.client.get("/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert not re.search(r"<script|(?:src|href)=\"(?:https?:)?//", page.text)
    for address in re.findall(r"(?:src|href)=\"(/[^\"]*)\"", page.text):
        assert service.client.get(address).status_code == 200


def test_the_page_names_everything_that_is_described(service: Service) -> None:
    described = service.client.get("/openapi.json").json()
    page = service.client.get("/docs").text
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page
            assert all(f">{status}<" in page for status in operation["responses"])
            assert all(f">{part['name']}" in page for part in operation.get("parameters", ()))
    for name, shape in described["components"]["schemas"].items():
        assert f'id="{name}"' in page
        assert all(f">{field}" in page for field in shape.get("properties", {}))
    linked = set(re.findall(r"href=\"#([^\"]+)\"", page)) - {"content"}
    assert linked <= set(re.findall(r"id=\"([^\"]+)\"", page))


def test_there_is_one_page_and_no_other_viewer(service: Service) -> None:
    assert service.client.get("/redoc").status_code == 404
