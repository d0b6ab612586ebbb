"""The page at /docs: the OpenAPI description for people, made here. It loads nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.responses import Response

from crestline.web.pages.rendering import page_response

_BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
}


def api_page(openapi: Mapping[str, Any]) -> Response:
    """Every request with what it takes and what comes back, then every shape."""
    return page_response("api.html", who=None, openapi=openapi, bounds_of=_bounds_of)


def _bounds_of(schema: Mapping[str, Any]) -> list[str]:
    found = [words.format(schema[name]) for name, words in _BOUNDS.items() if name in schema]
    return [*found, f"unless given, {schema['default']!r}"] if schema.get("default") is not None else found
