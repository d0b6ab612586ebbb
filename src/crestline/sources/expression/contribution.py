"""At most Δ items per user, chosen by the engine with a keyed hash of (key, user, item) (P0.3, D3).

Which items of a user are kept depends on that user's own items and on the key alone, so removing another user changes
nothing here. The guarantee holds for every fixed key; a fresh random key per release makes the choice unbiased.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from crestline.errors import ParameterError
from crestline.randomness.entropy import Entropy
from crestline.sources.engine.bind_parameters import KEY
from crestline.sources.engine.engine_functions import Expression, join_texts, md5

_SHORTEST_KEY = 16
_NO_KEY = f"a contribution bound needs a fresh random key of at least {_SHORTEST_KEY} bytes"
_DIGITS = 12  # 48 bits tell one user's items apart, and engines sort short texts much faster
_PLACE = "place"


def fresh_key(entropy: Entropy) -> bytes:
    """A key for one release: 32 random bytes. Never print or store it."""
    return entropy.words(4).tobytes()


def bound_pairs(
    pairs: Expression,
    bounded_by: Sequence[str],
    items: Sequence[str],
    texts: Sequence[Expression],
    contribution: int,
    key: bytes,
    engine: str,
) -> Expression:
    """The pairs of (user, item) that are kept: for every user the `contribution` items of smallest hash.

    `bounded_by` names the columns that tell users apart, or users and periods, users and groups. `pairs` must hold each
    pair
    once (for each of them); `texts` are the columns that are hashed, as texts that only equal values share.
    """
    import ibis

    if len(key) < _SHORTEST_KEY:
        raise ParameterError(_NO_KEY)
    # The label breaks ties of the hash, so that the choice is a function of the user's items even then.
    order = [md5(keyed_message(texts, key, engine), _DIGITS, engine), *(pairs[name] for name in items)]
    placed = pairs.mutate(**{_PLACE: ibis.row_number().over(group_by=list(bounded_by), order_by=order)})
    return placed.filter(placed[_PLACE] < contribution).drop(_PLACE)


def keyed_message(texts: Sequence[Expression], key: bytes, engine: str) -> Expression:
    """Key and texts in one text that can be read back in one way only: all parts but the last carry their length."""
    import ibis

    parts = [ibis.literal(hash_digits(key))]
    for text in texts[:-1]:
        parts += [text.length().cast("string"), ibis.literal(":"), text]
    return join_texts([*parts, texts[-1]], engine)


def key_values(key: bytes, *endings: bytes) -> dict[str, str]:
    """What stands in the place of a key, and of those that are made of it by an ending."""
    if len(key) < _SHORTEST_KEY:
        raise ParameterError(_NO_KEY)
    return {hash_digits(KEY + ending): hash_digits(key + ending) for ending in (b"", *endings)}


def hash_digits(key: bytes) -> str:
    """The key as 32 digits, so that a usual message is one block of MD5."""
    return hashlib.sha256(key).hexdigest()[:32]
