"""A witness: the checksum of the chain (how long it is, and the hash of its last entry), kept in another place.

A ledger proves by itself that no entry was edited. What it cannot prove is that it is the newest: a backup that is put
back holds as well as the ledger did then, and has forgotten what was spent since. The witness remembers.

It is written after every commit, and before anybody is told of it. So it knows everything that was ever told, and:

- a crash between the two leaves the witness behind, never ahead. An honest ledger always contains what its witness
  says: it is as long or longer, and its entry of that number has that hash. Nothing else is asked of it.
- of two processes the slower may come with an older checksum: the witness keeps the longer of two.
- a ledger that does not contain it was restored, rewritten or replaced, and is refused: when it is opened, and under
  the lock of every writer, where no honest witness can be newer than the head.
- where the ledger says that it has a witness, a missing one is refused, too.

An owner who has restored a backup on purpose says so with `crestline ledger accept`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Column, MetaData, Table, Text, delete, insert, select

from crestline.errors import LedgerError
from crestline.ledger.entries import GENESIS, Entry, entry_hash
from crestline.ledger.storage.rows import ChainHead
from crestline.ledger.storage.tables import head_columns

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from crestline.ledger.storage.books import Books
    from crestline.ledger.storage.database import Database


def open_witness(address: str | os.PathLike[str], ledger: Database, timeout: float) -> Witness:
    """The witness at a path, or in the database at a `postgresql://` or `sqlite:///` address."""
    from crestline.ledger.storage.addresses import open_database

    text = os.fspath(address)
    if "://" in text:
        return DatabaseWitness(open_database(text, create=True, timeout=timeout), ledger.address)
    if not Path(text).absolute().parent.is_dir():
        raise LedgerError(f"witness {text}: its directory does not exist; create it first")
    return FileWitness(Path(text))


class Witness(Protocol):
    """Where the checksum is kept. `read_head` is None where there is none yet; `note_head` never makes it shorter."""

    @property
    def place(self) -> str: ...

    def read_head(self) -> ChainHead | None: ...

    def note_head(self, head: ChainHead) -> None: ...

    def replace(self, head: ChainHead) -> None: ...


_SLOT = 256  # bytes: more than a checksum and its hash need, and a whole part of any sector


class FileWitness:
    """A file of two places that are written in turn, each with a hash of its own: one of them is always whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        """The path."""
        return str(self._path)

    def read_head(self) -> ChainHead | None:
        """The longer of the two; None where there is no file."""
        with self._translate_os_errors():
            try:
                content = self._path.read_bytes()
            except FileNotFoundError:
                return None
        return self._longest_whole_head(content)

    def note_head(self, head: ChainHead) -> None:
        """Keep it, durably, unless a longer one is kept already."""
        with self._open() as file:
            known = self._longest_whole_head(os.pread(file, 2 * _SLOT, 0))
            if known is None or known.length < head.length:
                self._write_slot(file, head, 0 if known is None else head.length % 2)

    def replace(self, head: ChainHead) -> None:
        """Keep it in place of whatever is there."""
        with self._open() as file:
            os.pwrite(file, b" " * 2 * _SLOT, 0)
            self._write_slot(file, head, 0)

    def _write_slot(self, file: int, head: ChainHead, slot: int) -> None:
        text = f"{head.length}:{head.hash}"
        os.pwrite(file, f"{text} {entry_hash(text)}\n".encode().ljust(_SLOT), slot * _SLOT)
        os.fsync(file)

    def _longest_whole_head(self, content: bytes) -> ChainHead | None:
        """None of an empty file; a file in which nothing is whole is an error."""
        found = [_parse_slot(content[start : start + _SLOT]) for start in (0, _SLOT)]
        whole = [head for head in found if head is not None]
        if content and not whole:
            raise LedgerError(f"witness {self.place}: it cannot be read; it was edited, or is no witness")
        return max(whole, key=lambda head: head.length, default=None)

    @contextmanager
    def _open(self) -> Iterator[int]:
        """The file, for this process alone."""
        import fcntl  # not on every system

        with self._translate_os_errors():
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield file
            finally:
                os.close(file)

    @contextmanager
    def _translate_os_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LedgerError(
                f"witness {self.place}: {error.strerror}; what was reserved stays charged: see that it can be read and "
                "written"
            ) from None


def _parse_slot(slot: bytes) -> ChainHead | None:
    text, _, own = slot.decode("ascii", "replace").strip().partition(" ")
    length, _, last = text.partition(":")
    return ChainHead(int(length), last) if length.isdecimal() and entry_hash(text) == own else None


_metadata = MetaData()
_witnesses = Table("crestline_witness", _metadata, Column("ledger", Text, primary_key=True), *head_columns())


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

    def read_head(self) -> ChainHead | None:
        """What is kept of this ledger."""
        return self._database.read(self._select_head)

    def note_head(self, head: ChainHead) -> None:
        """Keep it, durably, unless a longer one is kept already."""

        def write_longer_head(books: Books) -> None:
            known = self._select_head(books.connection, lock=True)
            if known is None or known.length < head.length:
                self._insert_head(books.connection, head)

        self._database.write(write_longer_head)

    def replace(self, head: ChainHead) -> None:
        """Keep it in place of whatever is there."""
        self._database.write(lambda books: self._insert_head(books.connection, head))

    def _insert_head(self, connection: Connection, head: ChainHead) -> None:
        connection.execute(delete(_witnesses).where(_witnesses.c.ledger == self._ledger))
        row = {"ledger": self._ledger, "length": head.length, "head": head.hash}
        connection.execute(insert(_witnesses), row)

    def _select_head(self, connection: Connection, *, lock: bool = False) -> ChainHead | None:
        query = select(_witnesses.c.length, _witnesses.c.head).where(_witnesses.c.ledger == self._ledger)
        row = connection.execute(query.with_for_update() if lock else query).first()
        return None if row is None else ChainHead(int(row[0]), str(row[1]))


def chain_contains(entry: Callable[[], Sequence[Entry]], head: ChainHead, known: ChainHead) -> bool:
    """Whether the chain up to `head` contains what is known of it; `entry` looks up the entry of that number."""
    if known.length == head.length or known.length == 0:
        return known.hash == (head.hash if known.length else GENESIS)
    return known.length < head.length and [one.hash for one in entry()] == [known.hash]


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
