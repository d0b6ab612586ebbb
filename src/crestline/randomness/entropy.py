"""Entropy: where random bits come from.

`system()` is keyed by the operating system; `replay(key)` is deterministic, for tests and simulations only. Both
stretch their key with AES in counter mode. Every uniform is an infinite bit string: its first 64 bits are drawn in
bulk (of large tables only where they may matter: sparse.py), the rest exists at a fixed place and is fetched only when
a comparison asks for it, so that no decision depends on how many bits were looked at first (P11.1, P13.8).

Threads may share a source: no two draws ever get the same bits.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Protocol
from weakref import WeakSet

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from crestline.errors import ParameterError
from crestline.randomness.sparse_uniforms import SparseUniforms
from crestline.randomness.uniforms import LARGE, Uniforms

_BLOCK = 1 << 16  # bytes drawn at a time, for memory and speed
_ZEROS = memoryview(bytes(_BLOCK))
_WORD = np.dtype("<u8")
_KEY = 32  # bytes


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


class _AesStream:
    """AES-CTR over a 32-byte key: a bulk stream of words, and a tail of further bits for every uniform."""

    replayable = False

    def __init__(self, key: bytes, *, first_bits: int = 64) -> None:
        if not 1 <= first_bits <= 64:
            raise ParameterError(f"first_bits must lie between 1 and 64, not {first_bits}")
        self._first_bits = first_bits
        self._set_key(key)

    def _set_key(self, key: bytes) -> None:
        self._turn = threading.Lock()
        self._tail_key = hashlib.sha256(b"crestline tail" + key).digest()
        bulk_key = hashlib.sha256(b"crestline bulk" + key).digest()
        self._bulk: CipherContext = Cipher(AES(bulk_key), CTR(bytes(16))).encryptor()
        self._draws = 0  # counted from anywhere, no two are alike

    def words(self, n: int) -> NDArray[np.uint64]:
        size = 8 * n
        out = np.empty(size + 15, dtype=np.uint8)  # `update_into` wants room for one block less one byte
        view = out.data
        with self._turn:
            for start in range(0, size, _BLOCK):
                length = min(_BLOCK, size - start)
                self._bulk.update_into(_ZEROS[:length], view[start:])
        return out[:size].view(_WORD).astype(np.uint64, copy=False)

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        with self._turn:
            self._draws += 1
            draw, key = self._draws, self._tail_key

        def tail(index: int, bits: int) -> int:
            """The first `bits` bits that follow the 64 of uniform `index` in this draw."""
            place = draw.to_bytes(6, "big") + index.to_bytes(6, "big") + bytes(4)
            size = -(-bits // 8)
            stream = Cipher(AES(key), CTR(place)).encryptor().update(bytes(size))
            return int.from_bytes(stream, "big") >> (8 * size - bits)

        if rows == 1 or rows * columns < LARGE:
            return Uniforms(self.words(rows * columns).reshape(rows, columns), self._first_bits, tail)
        return SparseUniforms((rows, columns), self._first_bits, tail, self)


class SystemEntropy(_AesStream):
    """Keyed by the operating system. A forked child draws a new key, so that parent and child never share bits."""

    def __init__(self) -> None:
        super().__init__(os.urandom(_KEY))
        _KEYED.add(self)

    def draw_new_key(self) -> None:
        """A new key, and a lock that nobody holds."""
        self._set_key(os.urandom(_KEY))


_KEYED: WeakSet[SystemEntropy] = WeakSet()


def _renew_after_fork() -> None:
    """In a new child, before it runs anything: a thread of the parent's may have held a lock, and it is not here."""
    for source in tuple(_KEYED):
        source.draw_new_key()


if hasattr(os, "register_at_fork"):  # where there is no fork, there is nothing to do
    os.register_at_fork(after_in_child=_renew_after_fork)


class ReplayEntropy(_AesStream):
    """Deterministic: the same key gives the same bits. For tests and simulations only."""

    replayable = True

    def __init__(self, key: int | str | bytes, *, first_bits: int = 64) -> None:
        text = key if isinstance(key, bytes) else repr(key).encode()
        super().__init__(hashlib.sha256(b"crestline replay" + text).digest(), first_bits=first_bits)


def system() -> Entropy:
    """The operating system's generator, stretched by AES in counter mode."""
    return SystemEntropy()


def replay(key: int | str | bytes, *, first_bits: int = 64) -> Entropy:
    """A deterministic source for tests and simulations; an answer made with it says so.

    `first_bits` limits how much of each uniform is drawn before refinement starts; it never changes a decision.
    """
    return ReplayEntropy(key, first_bits=first_bits)
