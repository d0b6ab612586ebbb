"""What a mechanism states about itself and about every mechanism inside it: what its promise needs of a question.

A wrapper (noisy counts around a selection, a framework around a black box) promises what its parts promise, so it
needs what they need. Parts are found wherever an object keeps them, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from crestline.errors import CrestlineError, MechanismError
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.mechanisms.mechanism import Mechanism
from crestline.parameters import whole

KNOWN, UNKNOWN = "known", "unknown"

# More than anybody builds: an object that makes up a new part whenever it is asked for one must not be followed on.
MOST_PARTS = 100

# Under these names a part is looked for even where an object computes it, or where it is no whole mechanism.
_PART_NAMES = ("mechanism", "inner")
# What can hold no part, and is not looked into.
_PLAIN = (str, bytes, int, float, complex, type(None))


def contribution_of(mechanism: Any) -> int | None:
    """The smallest bound on the items of one user that the mechanism, or a mechanism inside it, states.

    Its promise holds only for users within this bound; None: for all users.
    """
    bounds = [_bound(part) for part in parts(mechanism)]
    return min((bound for bound in bounds if bound is not None), default=None)


def domain_of(mechanism: Any) -> str | None:
    """`known` when the mechanism needs a public list, `unknown` when it needs a cut one; None: it does not say."""
    stated = getattr(mechanism, "domain", None)
    if stated in (KNOWN, UNKNOWN):
        return str(stated)
    ours = {kind.__name__ for kind in type(mechanism).__mro__ if kind.__module__.startswith("crestline.")}
    for line in CATALOGUE:
        if line.name in ours and line.domain in (KNOWN, UNKNOWN):
            return line.domain
    if "NoisyCounts" in ours:  # looks at the same histogram as the selection it counts for
        return domain_of(mechanism.mechanism)
    return None


def parts(mechanism: Any) -> Iterator[Any]:
    """The mechanism, and every mechanism inside it, however deep; each of them once."""
    seen: dict[int, Any] = {}  # keeps what it has seen, so that no number is given out twice
    waiting = [mechanism]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        if len(seen) == MOST_PARTS:
            raise MechanismError(f"a mechanism may be made of at most {MOST_PARTS} others, one inside the other")
        seen[id(part)] = part
        yield part
        waiting += _inside(part)


def _inside(whole_one: Any) -> Iterator[Any]:
    """The mechanisms that an object holds directly, or in a collection."""
    for name in _PART_NAMES:
        part = getattr(whole_one, name, None)
        if part is not None and not isinstance(part, type):
            yield part
    for value in _kept(whole_one):
        yield from (part for part in _flat(value) if isinstance(part, Mechanism) and not isinstance(part, type))


def _kept(value: Any) -> list[Any]:
    """Everything that an object keeps: in its dictionary, in slots, in the fields of a dataclass."""
    names = {name for kind in type(value).__mro__ for name in _slots(kind)}
    if is_dataclass(value):
        names |= {field.name for field in fields(value)}
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in sorted(names))]


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _flat(value: Any, depth: int = 4) -> Iterator[Any]:
    """A value, or what is in a collection of them; no collection is looked into deeper than people build them."""
    if isinstance(value, _PLAIN):
        return
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if not isinstance(value, list | tuple | set | frozenset):
        yield value
    elif depth:
        for each in value:
            yield from _flat(each, depth - 1)


def _bound(mechanism: Any) -> int | None:
    stated = getattr(mechanism, "contribution", None)
    if stated is None:
        return None
    try:
        return whole(stated, "contribution")
    except CrestlineError:
        raise MechanismError(
            f"{type(mechanism).__name__} must state its contribution as a whole number of at least 1, or as None"
        ) from None
