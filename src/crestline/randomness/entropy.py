"""Entropy: sources of random bits.

`system()` is keyed by the operating system; `replay(key)` is deterministic, for tests and simulations only. Both
stretch their key with AES in counter mode. Every uniform is an infinite bit string: its first 64 bits are drawn in bulk
(in large tables only where they may matter, see sparse_uniforms.py), the others are computed from their position when a
comparison needs them, so that no decision depends on how many bits were drawn first (P11.1, P13.8).

Threads may share a source: no two draws get the same bits.
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

_BLOCK = 1 << 16  # bytes encrypted at a time, so that the zeros take little memory
_ZEROS = memoryview(bytes(_BLOCK))
_WORD = np.dtype("<u8")
_KEY = 32  # bytes


class Entropy(Protocol):
    """A source of random bits."""

    @property
    def replayable(self) -> bool:
        """Whether the source is deterministic; an answer made with such a source is marked."""
        ...

    def words(self, n: int) -> NDArray[np.uint64]:
        """`n` words of 64 random bits."""
        ...

    def uniforms(self, rows: int, columns: int) -> Uniforms:
        """A table of independent uniforms in (0, 1), as bit strings that can be extended."""
        ...


class _AesStream:
    """AES-CTR over a 32-byte key: a bulk stream of words, and further bits for every uniform."""

    replayable = False

    def __init__(self, key: bytes, *, first_bits: int = 64) -> None:
        if not 1 <= first_bits <= 64:
            raise ParameterError(f"first_bits must lie between 1 and 64, not {first_bits}")
        self._first_bits = first_bits
        self._set_key(key)

    def _set_key(self, key: bytes) -> None:
        """Derive the keys of both streams, and start counting draws anew."""
        self._turn = threading.Lock()
        self._tail_key = hashlib.sha256(b"crestline tail" + key).digest()
        bulk_key = hashlib.sha256(b"crestline bulk" + key).digest()
        self._bulk: CipherContext = Cipher(AES(bulk_key), CTR(bytes(16))).encryptor()
        self._draws = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        size = 8 * n
        out = np.empty(size + 15, dtype=np.uint8)  # `update_into` requires 15 bytes more than the output
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
    """Source keyed by the operating system; a forked child draws a new key, so it shares no bits with its parent."""

    def __init__(self) -> None:
        super().__init__(os.urandom(_KEY))
        _KEYED.add(self)

    def draw_new_key(self) -> None:
        """Replace the key, and the lock, which no thread of this process holds."""
        self._set_key(os.urandom(_KEY))


_KEYED: WeakSet[SystemEntropy] = WeakSet()


def _renew_after_fork() -> None:
    """Draw new keys in a forked child before it runs: a thread that held a lock in the parent does not exist here."""
    for source in tuple(_KEYED):
        source.draw_new_key()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_renew_after_fork)


class ReplayEntropy(_AesStream):
    """Deterministic source, for tests and simulations only: the same key gives the same bits."""

    replayable = True

    def __init__(self, key: int | str | bytes, *, first_bits: int = 64) -> None:
        text = key if isinstance(key, bytes) else repr(key).encode()
        super().__init__(hashlib.sha256(b"crestline replay" + text).digest(), first_bits=first_bits)


def system() -> Entropy:
    """Source keyed by the operating system, stretched by AES in counter mode."""
    return SystemEntropy()


def replay(key: int | str | bytes, *, first_bits: int = 64) -> Entropy:
    """Deterministic source for tests and simulations; an answer made with it is marked as replayed, and is not private.

    Args:
        key: The same key gives the same bits.
        first_bits: Bits of each uniform, from 1 to 64, that are used before refinement starts; no decision depends on
            it.

    Raises:
        ParameterError: `first_bits` is out of range.
    """
    return ReplayEntropy(key, first_bits=first_bits)
