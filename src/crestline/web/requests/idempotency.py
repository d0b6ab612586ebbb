"""Requests that carry a key: sent twice, answered once, paid once; also at the same time, also on two servers.

The key is a column of the reservation in the ledger, so it is written down with the charge and never without it: what
was refused leaves the key free, what was settled is served again, also after a crash, and what was charged and has no
answer is not asked anew.
"""

from __future__ import annotations

import hashlib

from crestline.ledger.entries import canonical_json
from crestline.ledger.receipt import RequestKey
from crestline.ledger.storage.store import Store


def request_key(who: str, key: str, question: object = None) -> RequestKey:
    """The key of a request in the ledger: a hash of who sends it and of their key, and one of what is asked."""
    return RequestKey(_hash([who, key]), _hash(question))


def cancel_request(store: Store, who: str, key: str) -> dict[str, object]:
    """What became of a request that its sender gave up: "cancelled" (it was not charged, and never will be),
    "unfinished" (it may be charged), or "ended", with the number of its answer, if it has one."""
    found = store.cancel_request(request_key(who, key).key, who)
    if found is None:
        return {"state": "cancelled"}
    if found.kind == "settled":
        return {"state": "ended", "id": found.receipt if found.number is None else found.number, "message": None}
    if store.is_lost(found.sequence):
        return {"state": "ended", "id": None, "message": "The question failed after it was charged."}
    return {"state": "unfinished"}


def _hash(value: object) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
