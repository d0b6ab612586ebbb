"""The requirements of a mechanism and of every mechanism inside it.

A wrapper (noisy counts around a selection, a framework around a black box) keeps its promise only where its parts keep
theirs. Parts are found in every attribute of an object, by any author.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from crestline.errors import MechanismError
from crestline.mechanisms.mechanism import Mechanism
from crestline.mechanisms.third_party import stated_contribution, unwrap_adopted

# Ends the search in an object that creates a new part on every access.
MOST_PARTS = 100

# Names of parts that are also found where a property computes them, or where they are incomplete mechanisms.
_PART_NAMES = ("mechanism", "inner")
# Types that cannot hold a part.
_PLAIN = (str, bytes, int, float, complex, type(None))


def smallest_contribution(mechanism: object) -> int | None:
    """Smallest bound on the items of one user that the mechanism, or a mechanism inside it, states.

    The promise holds only for users within this bound; None: for all users.
    """
    bounds = [stated_contribution(part) for part in nested_mechanisms(mechanism)]
    return min((bound for bound in bounds if bound is not None), default=None)


def nested_mechanisms(mechanism: object) -> Iterator[object]:
    """The mechanism and every mechanism inside it, at any depth; each once.

    Raises:
        MechanismError: There are more than `MOST_PARTS`.
    """
    seen: dict[int, object] = {}  # keeps the objects alive, so that no id is used twice
    waiting = [mechanism]
    while waiting:
        part = unwrap_adopted(waiting.pop())
        if id(part) in seen:
            continue
        if len(seen) == MOST_PARTS:
            raise MechanismError(f"a mechanism may be made of at most {MOST_PARTS} others, one inside the other")
        seen[id(part)] = part
        yield part
        waiting += _inner_mechanisms(part)


def _inner_mechanisms(value: object) -> Iterator[object]:
    """Mechanisms that an object holds directly, or in a collection."""
    yield from (
        part for part in _named_attributes(value, _PART_NAMES) if part is not None and not isinstance(part, type)
    )
    for kept in _attribute_values(value):
        yield from (
            part for part in _flatten_collections(kept) if isinstance(part, Mechanism) and not isinstance(part, type)
        )


def _attribute_values(value: object) -> list[object]:
    """Values of all attributes of an object: in its dictionary, in slots, in the fields of a dataclass."""
    names = {name for kind in type(value).__mro__ for name in _slots(kind)}
    if is_dataclass(value):
        names |= {field.name for field in fields(value)}
    return [*getattr(value, "__dict__", {}).values(), *_named_attributes(value, sorted(names))]


def _named_attributes(value: object, names: Iterable[str]) -> Iterator[object]:
    return (getattr(value, name, None) for name in names)


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _flatten_collections(value: object, depth: int = 4) -> Iterator[object]:
    """The value itself, or the members of a collection, down to `depth` levels of collections."""
    if isinstance(value, _PLAIN):
        return
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if not isinstance(value, list | tuple | set | frozenset):
        yield value
    elif depth:
        for each in value:
            yield from _flatten_collections(each, depth - 1)
