"""A witness: the checksum of the chain (how long it is, and the hash of its last entry), kept in another place.

A ledger proves by itself that no entry was edited. What it cannot prove is that it is the newest: a backup that is put
back holds as well as the ledger did then, and has forgotten what was spent since. The witness remembers.

It is written in two phases. Under the lock of all writers, and before the commit, it records where the chain will end:
the announcement. After the commit, and before any outcome is returned, it records that the chain ends there. So:

- a witness that cannot be written, is locked or is slow refuses a change before it is committed: nothing is charged.
- it knows everything that was ever returned. A ledger that does not contain what was confirmed was restored, rewritten
  or replaced, and is refused: when it is opened, and under the lock of every writer.
- a crash leaves an announcement that may have been committed or not. An honest ledger contains it, or is shorter.
- of two processes the slower may confirm later: the witness keeps the longer of two.
- that there is a witness, and its name, is an entry. Without one, or with one of another name, nothing is written. Its
  address is never taken from a ledger: a person who can write there could name a place that suits them.

An owner who has restored a backup on purpose says so with `crestline ledger accept`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import BigInteger, Column, MetaData, Table, Text, delete, insert, select

from crestline.errors import LedgerError
from crestline.ledger.entries import GENESIS, Entry, entry_hash
from crestline.ledger.storage.rows import ChainHead
from crestline.ledger.storage.tables import head_columns

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from crestline.ledger.storage.books import Books
    from crestline.ledger.storage.database import Database

VARIABLE = "CRESTLINE_WITNESS"  # the environment variable that names a witness where nothing else does
LONGEST_WAIT = 5.0  # seconds that a writer waits for a witness, while all others wait for that writer


class WitnessError(LedgerError):
    """The witness cannot be read or written."""


@dataclass(frozen=True)
class WitnessState:
    """What is kept of a ledger: where its chain ended, and where it was about to end; the same where nothing was."""

    confirmed: ChainHead
    announced: ChainHead

    def with_confirmed(self, head: ChainHead) -> WitnessState:
        """The same with a longer chain confirmed."""
        if head.length <= self.confirmed.length:
            return self
        return WitnessState(head, self.announced if self.announced.length > head.length else head)


def open_witness(address: str | os.PathLike[str], ledger: Database, timeout: float) -> Witness:
    """The witness at a path, or in the database at a `postgresql://` or `sqlite:///` address."""
    from crestline.ledger.storage.addresses import open_database

    text, patience = os.fspath(address), min(timeout, LONGEST_WAIT)
    if "://" in text:
        with _translate_database_errors(text.rpartition("@")[2]):
            return DatabaseWitness(open_database(text, create=True, timeout=patience), ledger.address)
    if not Path(text).absolute().parent.is_dir():
        raise LedgerError(f"witness {text}: its directory does not exist; create it first")
    return FileWitness(Path(text), patience)


def witness_address(given: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    """The address that was given, or that of the environment, or None."""
    return given if given is not None else os.environ.get(VARIABLE)


def witness_name(witness: Witness) -> str:
    """The name that an entry states: the last part of its place."""
    return PurePath(witness.place).name


class Witness(Protocol):
    """Where the checksum is kept. `read` is None where there is none yet; `confirm` never makes it shorter."""

    @property
    def place(self) -> str: ...

    def read(self) -> WitnessState | None: ...

    def announce(self, head: ChainHead, following: ChainHead) -> None: ...

    def confirm(self, head: ChainHead) -> None: ...

    def replace(self, head: ChainHead) -> None: ...


_SLOT = 512  # bytes: more than two checksums and their hash need, and a whole part of any sector


class FileWitness:
    """A file of two places that are written in turn, each with a number and a hash: one of them is always whole."""

    def __init__(self, path: Path, patience: float = LONGEST_WAIT) -> None:
        self._path = path
        self._patience = patience

    @property
    def place(self) -> str:
        """The path."""
        return str(self._path)

    def read(self) -> WitnessState | None:
        """What was written last; None where there is no file."""
        with self._translate_os_errors():
            try:
                content = self._path.read_bytes()
            except FileNotFoundError:
                return None
        return self._newest_whole_state(content)[1]

    def announce(self, head: ChainHead, following: ChainHead) -> None:
        """Keep, durably, that the chain ends at `head`, and is about to end at `following`."""
        self._update(lambda _: WitnessState(head, following))

    def confirm(self, head: ChainHead) -> None:
        """Keep, durably, that the chain ends here, unless a longer one is kept already."""
        self._update(lambda known: WitnessState(head, head) if known is None else known.with_confirmed(head))

    def replace(self, head: ChainHead) -> None:
        """Keep it in place of whatever is there."""
        with self._open() as file:
            os.pwrite(file, b" " * 2 * _SLOT, 0)
            self._write_slot(file, 0, WitnessState(head, head))

    def _update(self, change: Callable[[WitnessState | None], WitnessState]) -> None:
        with self._open() as file:
            number, known = self._newest_whole_state(os.pread(file, 2 * _SLOT, 0))
            state = change(known)
            if state != known:
                self._write_slot(file, number + 1, state)

    def _write_slot(self, file: int, number: int, state: WitnessState) -> None:
        heads = (f"{head.length}:{head.hash}" for head in (state.confirmed, state.announced))
        text = " ".join([str(number), *heads])
        os.pwrite(file, f"{text} {entry_hash(text)}\n".encode().ljust(_SLOT), number % 2 * _SLOT)
        os.fsync(file)

    def _newest_whole_state(self, content: bytes) -> tuple[int, WitnessState | None]:
        """None of an empty file; a file in which nothing is whole is an error."""
        found = [_parse_slot(content[start : start + _SLOT]) for start in (0, _SLOT)]
        whole = [part for part in found if part is not None]
        if content and not whole:
            raise WitnessError(f"witness {self.place}: it cannot be read; it was edited, or is no witness")
        return max(whole, key=lambda part: part[0], default=(-1, None))

    @contextmanager
    def _open(self) -> Iterator[int]:
        """The file, for this process alone."""
        with self._translate_os_errors():
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                self._lock(file)
                yield file
            finally:
                os.close(file)

    def _lock(self, file: int) -> None:
        import fcntl  # not on every system

        end = time.monotonic() + self._patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise WitnessError(f"witness {self.place}: another process keeps it locked; {_REFUSED}") from None
                time.sleep(0.01)

    @contextmanager
    def _translate_os_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WitnessError(f"witness {self.place}: {error.strerror}; {_REFUSED}") from None


_REFUSED = "nothing is charged without it: see that it can be read and written"


def _parse_slot(slot: bytes) -> tuple[int, WitnessState] | None:
    text, _, own = slot.decode("ascii", "replace").strip().rpartition(" ")
    if entry_hash(text) != own:
        return None
    number, *heads = text.split(" ")
    confirmed, announced = (ChainHead(int(length), last) for length, _, last in (head.partition(":") for head in heads))
    return int(number), WitnessState(confirmed, announced)


_metadata = MetaData()
_witnesses = Table(
    "crestline_witness",
    _metadata,
    Column("ledger", Text, primary_key=True),
    *head_columns(),
    Column("announced_length", BigInteger, nullable=False),
    Column("announced_head", Text, nullable=False),
)


class DatabaseWitness:
    """A table in another database, with one row for each ledger, named by its address."""

    def __init__(self, database: Database, ledger: str) -> None:
        self._database = database
        self._ledger = ledger
        database.write(lambda books: _metadata.create_all(books.connection))

    @property
    def place(self) -> str:
        """The address, without a password."""
        return self._database.address

    def read(self) -> WitnessState | None:
        """What is kept of this ledger."""
        with _translate_database_errors(self.place):
            return self._database.read(self._select_state)

    def announce(self, head: ChainHead, following: ChainHead) -> None:
        """Keep, durably, that the chain ends at `head`, and is about to end at `following`."""
        self._update(lambda _: WitnessState(head, following))

    def confirm(self, head: ChainHead) -> None:
        """Keep, durably, that the chain ends here, unless a longer one is kept already."""
        self._update(lambda known: WitnessState(head, head) if known is None else known.with_confirmed(head))

    def replace(self, head: ChainHead) -> None:
        """Keep it in place of whatever is there."""
        self._update(lambda _: WitnessState(head, head))

    def _update(self, change: Callable[[WitnessState | None], WitnessState]) -> None:
        def write_state(books: Books) -> None:
            known = self._select_state(books.connection, lock=True)
            state = change(known)
            if state == known:
                return
            books.connection.execute(delete(_witnesses).where(_witnesses.c.ledger == self._ledger))
            row: dict[str, object] = {
                "ledger": self._ledger,
                "length": state.confirmed.length,
                "head": state.confirmed.hash,
                "announced_length": state.announced.length,
                "announced_head": state.announced.hash,
            }
            books.connection.execute(insert(_witnesses), row)

        with _translate_database_errors(self.place):
            self._database.write(write_state)

    def _select_state(self, connection: Connection, *, lock: bool = False) -> WitnessState | None:
        query = select(*_witnesses.c[1:]).where(_witnesses.c.ledger == self._ledger)
        row = connection.execute(query.with_for_update() if lock else query).first()
        return None if row is None else WitnessState(ChainHead(row[0], row[1]), ChainHead(row[2], row[3]))


@contextmanager
def _translate_database_errors(place: str) -> Iterator[None]:
    try:
        yield
    except LedgerError as error:
        reason = str(error).removeprefix(f"ledger {place}: ")
        raise WitnessError(f"witness {place}: {reason}; {_REFUSED}") from None


def missing_head(state: WitnessState, head: ChainHead, entry: Callable[[int], Sequence[Entry]]) -> ChainHead | None:
    """What the witness knows and the chain up to `head` does not contain, or None; `entry` looks up an entry.

    What was announced may have been committed or not; where the chain is as long, it must contain it.
    """
    known = [state.confirmed, *([state.announced] if state.announced.length <= head.length else [])]
    return next((one for one in known if not _chain_contains(entry, head, one)), None)


def _chain_contains(entry: Callable[[int], Sequence[Entry]], head: ChainHead, known: ChainHead) -> bool:
    if known.length == head.length or known.length == 0:
        return known.hash == (head.hash if known.length else GENESIS)
    return known.length < head.length and [one.hash for one in entry(known.length)] == [known.hash]


def no_witness_error(address: str, name: object) -> LedgerError:
    """What is said where a ledger has a witness, and none is given."""
    return LedgerError(
        f"ledger {address}: it has a witness, {name!r}, and is not written without it: name its place with "
        f"`--witness`, `witness=`, the configuration's `witness` or {VARIABLE}"
    )


def other_witness_error(address: str, name: object, witness: Witness) -> LedgerError:
    """What is said where a ledger has a witness of another name."""
    return LedgerError(
        f"ledger {address}: its witness is {name!r}, and {witness.place} is another one. Nothing is charged to it: "
        "name its own, or take the other one with `crestline ledger accept`"
    )


def witness_error(address: str, witness: Witness, head: ChainHead, known: ChainHead | None) -> LedgerError:
    """What is said of a ledger that is not the one its witness knows."""
    place = witness.place
    if known is None:
        what = f"it has a witness, and there is none at {place}"
    elif known.length > head.length:
        what = f"it has {head.length} entries, and its witness {place} knows {known.length}: it is an older copy"
    else:
        what = f"entry {known.length} is not the one that its witness {place} knows: it was rewritten or replaced"
    return LedgerError(
        f"ledger {address}: {what}. What was asked since is not in it, and its budget would be spent twice. Nothing is "
        "charged to it. Put the newest copy back; if this one must do, its owner says so with "
        "`crestline ledger accept`"
    )
