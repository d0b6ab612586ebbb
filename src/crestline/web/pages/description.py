"""The page at /docs: the OpenAPI description for people, made here. It loads nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crestline.web.pages.parts.html import Html, join, table, tag

Described = Mapping[str, Any]


def description(openapi: Described) -> Html:
    """Every request with what it takes and what comes back, then every shape."""
    requests = [
        _request(method, path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    ]
    shapes = [_shape(name, shape) for name, shape in openapi.get("components", {}).get("schemas", {}).items()]
    return join([_opening(openapi), *requests, tag("h2", "Shapes"), *shapes])


def _opening(openapi: Described) -> Html:
    whole = tag("a", "/openapi.json", href="/openapi.json")
    bearer = tag("code", "Authorization: Bearer <token>")
    words = ("Requests under /v1 carry ", bearer, ". The same description for programs is at ", whole, ".")
    return tag("p", openapi["info"].get("summary", ""), " ", *words)


def _request(method: str, path: str, operation: Described) -> Html:
    title = f"{method.upper()} {path}"
    words = [tag("p", part) for part in operation.get("description", "").split("\n\n") if part]
    takes = list(_inputs(operation))
    gives = [(status, response["description"], _content(response)) for status, response in _responses(operation)]
    asked = [table(f"{title} takes", ("Name", "Where", "What"), takes)] if takes else []
    return tag(
        "section",
        tag("h2", tag("code", title)),
        *words,
        *asked,
        table(f"{title} gives", ("Status", "When", "Shape"), gives),
    )


def _inputs(operation: Described) -> Iterator[tuple[Any, ...]]:
    for part in operation.get("parameters", ()):
        name = part["name"] if part.get("required") else f"{part['name']} (optional)"
        yield name, part["in"], _kind(part["schema"])
    if "requestBody" in operation:
        yield "body", "body", _content(operation["requestBody"])


def _responses(operation: Described) -> Iterator[tuple[str, Described]]:
    for status, response in operation["responses"].items():
        words = response["description"]
        yield status, {**response, "description": "It worked." if words == "Successful Response" else words}


def _content(part: Described) -> Html | str:
    """What a body holds, by its media type."""
    kinds = [
        join([_kind(body["schema"]), f" ({media})"])
        for media, body in part.get("content", {}).items()
        if "schema" in body
    ]
    return join(kinds) if kinds else "text"


def _shape(name: str, shape: Described) -> Html:
    required = shape.get("required", ())
    rows = [
        (field if field in required else f"{field} (optional)", _kind(part), part.get("description", ""))
        for field, part in shape.get("properties", {}).items()
    ]
    return tag(
        "section",
        tag("h3", name, id=name),
        *([tag("p", shape["description"])] if "description" in shape else ()),
        table(name, ("Name", "What", "Meaning"), rows),
    )


def _kind(schema: Described) -> Html:
    """A schema in words: a link to a shape, one of several, or a type with its bounds."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return tag("a", name, href=f"#{name}")
    if "anyOf" in schema:
        parts = [_kind(part) for part in schema["anyOf"]]
        return join(piece for place, part in enumerate(parts) for piece in ((" or ", part) if place else (part,)))
    if schema.get("type") == "array":
        return join(["list of ", _kind(schema.get("items", {}))])
    return join([schema.get("type", "anything"), _bounds(schema)])


_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
}


def _bounds(schema: Described) -> str:
    found = [words.format(schema[name]) for name, words in _BOUNDS.items() if name in schema]
    found += [f"unless given, {schema['default']!r}"] if schema.get("default") is not None else []
    return f" ({', '.join(found)})" if found else ""
