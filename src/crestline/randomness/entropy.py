"""Entropy: where random bits come from.

`system()` is keyed by the operating system; `replay(key)` is deterministic, for tests and simulations only. Both
stretch their key with AES in counter mode. Every uniform is an infinite bit string: its first 64 bits are drawn in
bulk, the rest exists at a fixed place of the stream and is fetched only when a comparison asks for it, so that no
decision depends on how many bits were looked at first (P11.1, P13.8).
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from crestline.errors import ParameterError
from crestline.randomness.uniforms import Uniforms

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)


class Entropy(Protocol):
    """A source of random bits."""

    @property
    def replayable(self) -> bool:
        """True for a deterministic source; an answer made with one says so."""
        ...

    def words(self, n: int) -> NDArray[np.uint64]:
        """`n` words of 64 random bits."""
        ...

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        """Independent uniforms in (0, 1), as lazily extended bit strings."""
        ...


class _Stream:
    """AES-CTR over a 32-byte key: a bulk stream of words, and a tail of further bits for every uniform."""

    replayable = False

    def __init__(self, key: bytes, *, first_bits: int = 64) -> None:
        if not 1 <= first_bits <= 64:
            raise ParameterError(f"first_bits must lie between 1 and 64, not {first_bits}")
        self._first_bits = first_bits
        self._rekey(key)

    def _rekey(self, key: bytes) -> None:
        self._tail_key = hashlib.sha256(b"crestline tail" + key).digest()
        bulk_key = hashlib.sha256(b"crestline bulk" + key).digest()
        self._bulk: CipherContext = Cipher(AES(bulk_key), CTR(bytes(16))).encryptor()
        self._draws = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        size = 8 * n
        out = np.empty(size + 15, dtype=np.uint8)  # `update_into` wants room for one block less one byte
        view = out.data
        for start in range(0, size, _BLOCK):
            length = min(_BLOCK, size - start)
            self._bulk.update_into(_ZEROS[:length] if length < _BLOCK else _ZEROS, view[start:])
        return out[:size].view("<u8").astype(np.uint64, copy=False)

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        self._draws += 1
        draw, key = self._draws, self._tail_key

        def tail(index: int, bits: int) -> int:
            """The first `bits` bits that follow the 64 of uniform `index` in this draw."""
            place = draw.to_bytes(6, "big") + index.to_bytes(6, "big") + bytes(4)
            size = -(-bits // 8)
            stream = Cipher(AES(key), CTR(place)).encryptor().update(bytes(size))
            return int.from_bytes(stream, "big") >> (8 * size - bits)

        return Uniforms(self.words(rows * columns).reshape(rows, columns), self._first_bits, tail)


class System(_Stream):
    """Keyed by the operating system. A forked child draws a new key, so that parent and child never share bits."""

    def __init__(self) -> None:
        super().__init__(os.urandom(32))
        self._process = os.getpid()

    def words(self, n: int) -> NDArray[np.uint64]:
        self._own()
        return super().words(n)

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        self._own()
        return super().uniforms(rows, columns)

    def _own(self) -> None:
        if self._process != os.getpid():
            self._rekey(os.urandom(32))
            self._process = os.getpid()


class Replay(_Stream):
    """Deterministic: the same key gives the same bits. For tests and simulations only."""

    replayable = True

    def __init__(self, key: int | str | bytes, *, first_bits: int = 64) -> None:
        text = key if isinstance(key, bytes) else repr(key).encode()
        super().__init__(hashlib.sha256(b"crestline replay" + text).digest(), first_bits=first_bits)


def system() -> Entropy:
    """The operating system's generator, stretched by AES in counter mode."""
    return System()


def replay(key: int | str | bytes, *, first_bits: int = 64) -> Entropy:
    """A deterministic source for tests and simulations; an answer made with it says so.

    `first_bits` limits how much of each uniform is drawn before refinement starts; it never changes a decision.
    """
    return Replay(key, first_bits=first_bits)
