"""Sessions: a signed cookie that stands for a token for some hours. It ends with the process that gave it."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable

HOURS = 8


class Sessions:
    """Signs cookies with a key of this process. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)

    def cookie(self, number: str) -> str:
        """A cookie for the token of this number."""
        text = f"{number}.{int(self._clock()) + HOURS * 3600}"
        return f"{text}.{self._mac(text)}"

    def token(self, cookie: str) -> str | None:
        """The number of the token that a cookie stands for, or None."""
        text, _, mac = cookie.rpartition(".")
        if not cookie.isascii() or not hmac.compare_digest(self._mac(text), mac):
            return None
        number, _, end = text.partition(".")
        return number if self._clock() < int(end) else None

    def _mac(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()
