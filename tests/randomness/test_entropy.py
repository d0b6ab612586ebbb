"""Entropy: replayable where it says so, never shared between processes, and lazily infinite."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from scipy.stats import chi2
from tests.patience import PATIENCE

from crestline.errors import ParameterError
from crestline.randomness import entropy as module
from crestline.randomness.entropy import Entropy, ReplayEntropy, replay, system
from crestline.randomness.sparse_uniforms import SparseUniforms
from crestline.randomness.uniforms import LARGE


def test_the_same_key_gives_the_same_bits() -> None:
    first, second = replay("key").uniforms(3, 4), replay("key").uniforms(3, 4)
    assert (first.words == second.words).all()
    assert first.prefix(5, 400) == second.prefix(5, 400)


@pytest.mark.parametrize("other", ["other", b"key", 7])
def test_another_key_gives_other_bits(other: str | bytes | int) -> None:
    assert (replay("key").words(4) != replay(other).words(4)).any()


def test_one_stream_never_repeats_itself() -> None:
    source = replay("stream")
    first, second = source.uniforms(1, 4), source.uniforms(1, 4)
    assert (first.words != second.words).all()
    assert first.prefix(0, 192) % 2**128 != second.prefix(0, 192) % 2**128
    assert first.prefix(0, 192) % 2**128 != first.prefix(1, 192) % 2**128


def test_a_long_draw_is_the_same_as_many_short_ones() -> None:
    long, short = replay("long").words(20_001), replay("long")
    pieces = np.concatenate([short.words(n) for n in (1, 8_192, 3, 11_805)])
    assert (long == pieces).all()


def test_more_bits_only_ever_add_to_the_front() -> None:
    uniforms = replay("prefix").uniforms(1, 1)
    whole = uniforms.prefix(0, 1000)
    for bits in (1, 7, 63, 64, 65, 128, 999):
        assert uniforms.prefix(0, bits) == whole >> (1000 - bits)


def test_bits_are_those_of_aes_in_counter_mode() -> None:
    """As the module says it: two keys from one, words from the start of one stream, tails from their own places."""
    key = hashlib.sha256(b"crestline replay" + repr("vector").encode()).digest()

    def stream(use: bytes, place: bytes, size: int) -> bytes:
        cipher = Cipher(AES(hashlib.sha256(b"crestline " + use + key).digest()), CTR(place))
        return cipher.encryptor().update(bytes(size))

    source = replay("vector")
    drawn = [source.uniforms(1, 2), source.uniforms(2, 1)]
    words = np.frombuffer(stream(b"bulk", bytes(16), 32), dtype="<u8")
    assert np.concatenate([table.words.ravel() for table in drawn]).tolist() == words.tolist()
    for number, table in enumerate(drawn, start=1):
        for index in range(2):
            place = number.to_bytes(6, "big") + index.to_bytes(6, "big") + bytes(4)
            assert table.tail(index, 160) == int.from_bytes(stream(b"tail", place, 20), "big")


@pytest.mark.parametrize(("bits", "size"), [(1, 1), (8, 1), (9, 2), (64, 8), (65, 9)])
def test_a_tail_takes_no_more_bytes_than_it_has(monkeypatch: pytest.MonkeyPatch, bits: int, size: int) -> None:
    asked: list[int] = []
    uniforms = replay("tail").uniforms(1, 1)

    class Stream:
        def __init__(self, *_: object) -> None: ...

        def encryptor(self) -> Stream:
            return self

        def update(self, data: bytes) -> bytes:
            asked.append(len(data))
            return data

    monkeypatch.setattr(module, "Cipher", Stream)
    assert uniforms.tail(0, bits) == 0
    assert asked == [size]


def test_a_key_takes_256_bits_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or bytes(size))
    made = system()
    made.draw_new_key()  # type: ignore[attr-defined] # as a forked child does
    assert asked == [32, 32]


def test_words_take_no_more_room_than_the_cipher_asks_for() -> None:
    words = replay("room").words(100)
    while words.base is not None and isinstance(words.base, np.ndarray):
        words = words.base
    assert words.nbytes <= 800 + 15


def test_long_rows_never_repeat_themselves() -> None:
    source = replay("long rows")
    words = np.concatenate([source.uniforms(16, 1024).words for _ in range(3)])
    assert len(np.unique(words & (2**48 - 1))) == words.size
    assert len(np.unique(words[0] >> 48)) > 900


def test_only_large_tables_of_several_rows_wait() -> None:
    """A single row is sooner drawn than judged (uniforms.py)."""
    source = replay("waiting")
    shapes = [(1, 3 * LARGE), (2, LARGE // 2 - 1), (2, LARGE // 2), (LARGE, 3)]
    assert [isinstance(source.uniforms(*shape), SparseUniforms) for shape in shapes] == [False, False, True, True]


@pytest.mark.parametrize(("rows", "columns", "words"), [(2, 8192, 0), (3001, 7, 0), (1, 20_000, 20_000), (3, 5, 15)])
def test_no_bits_are_drawn_in_vain(rows: int, columns: int, words: int) -> None:
    """The next draw goes on where this one ended; large tables draw nothing before they are asked."""
    source = replay("vain")
    uniforms = source.uniforms(rows, columns)
    assert (source.words(3) == replay("vain").words(words + 3)[words:]).all()
    assert uniforms.words.shape == (rows, columns)
    drawn = max(words, rows * columns) + 3
    assert (source.words(3) == replay("vain").words(drawn + 3)[drawn:]).all()


def test_first_bits_are_checked() -> None:
    for bits in (0, 65):
        with pytest.raises(ParameterError, match="first_bits"):
            replay("x", first_bits=bits)


def test_who_is_replayable_says_so() -> None:
    assert replay("x").replayable
    assert not system().replayable


def test_two_system_sources_differ() -> None:
    assert (system().words(4) != system().words(4)).all()


@pytest.mark.engines
def test_a_forked_child_draws_its_own_bits() -> None:
    source = system()
    source.words(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover -- runs in the child
        os.write(write, source.words(2).tobytes() + source.uniforms(1, 2).words.tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 32), dtype=np.uint64)
    ours = np.concatenate([source.words(2), source.uniforms(1, 2).words[0]])
    assert (ours != theirs).all()


class Dawdling(ReplayEntropy):
    """Takes its time between reading the number of draws and writing it, as a thread that is interrupted there does."""

    @property
    def _draws(self) -> int:
        seen = self._count
        time.sleep(0.001)
        return seen

    @_draws.setter
    def _draws(self, value: int) -> None:
        self._count = value


def test_threads_that_share_a_source_never_get_the_same_tail() -> None:
    source = Dawdling("threads")
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: source.uniforms(1, 1), range(64)))
    assert len({uniforms.tail(0, 128) for uniforms in drawn}) == 64


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.engines
def test_a_child_is_not_stopped_by_a_thread_that_is_not_there() -> None:
    source = system()
    with source._turn:  # type: ignore[attr-defined] # a draw that is going on in another thread
        child = os.fork()
        if child == 0:  # pragma: no cover -- runs in the child
            source.words(1)
            os._exit(0)
    end = time.monotonic() + PATIENCE
    while (done := os.waitpid(child, os.WNOHANG)[0]) == 0 and time.monotonic() < end:
        time.sleep(0.01)
    if not done:
        os.kill(child, 9)
    assert done == child


@pytest.mark.parametrize(
    "draw", [lambda source: source.words(1 << 18), lambda source: source.uniforms(256, 1024).words]
)
def test_bytes_are_uniform_and_the_test_would_notice(draw: Callable[[Entropy], np.ndarray]) -> None:
    """Chi-square over bytes at significance 1e-9; the same test rejects a generator whose lowest bit sticks."""
    drawn = np.frombuffer(draw(replay("bytes")).tobytes(), dtype=np.uint8)

    def p_value(values: np.ndarray) -> float:
        seen = np.bincount(values, minlength=256)
        mean = len(values) / 256
        return float(chi2.sf(float(np.sum((seen - mean) ** 2 / mean)), 255))

    assert p_value(drawn) > 1e-9
    stuck = drawn.copy()
    stuck[::20] |= 1
    assert p_value(stuck) < 1e-9


def test_tails_are_balanced() -> None:
    uniforms = replay("tails").uniforms(1, 4_000)
    ones = sum((uniforms.prefix(index, 96) & (2**32 - 1)).bit_count() for index in range(4_000))
    mean, spread = 4_000 * 16, (4_000 * 8) ** 0.5
    assert abs(ones - mean) < 6.2 * spread  # about 5e-10 for a fair source
