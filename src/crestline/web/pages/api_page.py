"""The page at /docs: the OpenAPI description for people, made here. It loads nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crestline.web.pages.parts.html import Html, element, join_html, table

Described = Mapping[str, Any]


def api_page(openapi: Described) -> Html:
    """Every request with what it takes and what comes back, then every shape."""
    requests = [
        _request_section(method, path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    ]
    shapes = [_schema_section(name, shape) for name, shape in openapi.get("components", {}).get("schemas", {}).items()]
    return join_html([_introduction(openapi), *requests, element("h2", "Shapes"), *shapes])


def _introduction(openapi: Described) -> Html:
    whole = element("a", "/openapi.json", href="/openapi.json")
    bearer = element("code", "Authorization: Bearer <token>")
    words = ("Requests under /v1 carry ", bearer, ". The same description for programs is at ", whole, ".")
    return element("p", openapi["info"].get("summary", ""), " ", *words)


def _request_section(method: str, path: str, operation: Described) -> Html:
    title = f"{method.upper()} {path}"
    words = [element("p", part) for part in operation.get("description", "").split("\n\n") if part]
    takes = list(_input_rows(operation))
    gives = [(status, response["description"], _content(response)) for status, response in _response_rows(operation)]
    asked = [table(f"{title} takes", ("Name", "Where", "What"), takes)] if takes else []
    return element(
        "section",
        element("h2", element("code", title)),
        *words,
        *asked,
        table(f"{title} gives", ("Status", "When", "Shape"), gives),
    )


def _input_rows(operation: Described) -> Iterator[tuple[Any, ...]]:
    for part in operation.get("parameters", ()):
        name = part["name"] if part.get("required") else f"{part['name']} (optional)"
        yield name, part["in"], _schema_type(part["schema"])
    if "requestBody" in operation:
        yield "body", "body", _content(operation["requestBody"])


def _response_rows(operation: Described) -> Iterator[tuple[str, Described]]:
    for status, response in operation["responses"].items():
        words = response["description"]
        yield status, {**response, "description": "It worked." if words == "Successful Response" else words}


def _content(part: Described) -> Html | str:
    """What a body holds, by its media type."""
    kinds = [
        join_html([_schema_type(body["schema"]), f" ({media})"])
        for media, body in part.get("content", {}).items()
        if "schema" in body
    ]
    return join_html(kinds) if kinds else "text"


def _schema_section(name: str, shape: Described) -> Html:
    required = shape.get("required", ())
    rows = [
        (field if field in required else f"{field} (optional)", _schema_type(part), part.get("description", ""))
        for field, part in shape.get("properties", {}).items()
    ]
    return element(
        "section",
        element("h3", name, id=name),
        *([element("p", shape["description"])] if "description" in shape else ()),
        table(name, ("Name", "What", "Meaning"), rows),
    )


def _schema_type(schema: Described) -> Html:
    """A schema in words: a link to a shape, one of several, or a type with its bounds."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return element("a", name, href=f"#{name}")
    if "anyOf" in schema:
        parts = [_schema_type(part) for part in schema["anyOf"]]
        return join_html(piece for place, part in enumerate(parts) for piece in ((" or ", part) if place else (part,)))
    if schema.get("type") == "array":
        return join_html(["list of ", _schema_type(schema.get("items", {}))])
    return join_html([schema.get("type", "anything"), _bounds_text(schema)])


_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
}


def _bounds_text(schema: Described) -> str:
    found = [words.format(schema[name]) for name, words in _BOUNDS.items() if name in schema]
    found += [f"unless given, {schema['default']!r}"] if schema.get("default") is not None else []
    return f" ({', '.join(found)})" if found else ""
