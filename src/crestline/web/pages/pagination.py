"""The newest entries of a ledger, a page at a time: nothing else is read, however long the ledger is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, select

from crestline.ledger.entries import COUNTED, ENDINGS, Entry
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.rows import to_entry
from crestline.ledger.storage.tables import entries, is_ending

_BATCH = 200  # entries that are looked at together while something is searched for


@dataclass(frozen=True)
class HistoryReader:
    """Whose entries are read: of these data sets, and of this analyst alone, if one is named."""

    database: Database
    datasets: tuple[str, ...]
    analyst: str | None

    def lines(
        self, before: int | None, most: int, words: Sequence[str] = (), fits: Callable[[Entry], bool] | None = None
    ) -> list[Entry]:
        """The newest entries below a number that open a line of the history and fit, the newest first.

        The database leaves out those that lack one of `words`; `fits` decides.
        """
        spelled = [entries.c.body.contains(json.dumps(word)[1:-1], autoescape=True) for word in words]
        batch_size, found = most if fits is None else _BATCH, list[Entry]()
        while len(found) < most:
            batch = self._run_query(self._lines(before).where(*spelled).limit(batch_size))
            found += [entry for entry in batch if fits is None or fits(entry)]
            if len(batch) < batch_size:
                break
            before = batch[-1].sequence
        return found[:most]

    def newest_settlement(self, dataset: str) -> Entry | None:
        """The newest entry that settled a question to a data set."""
        query = self._select_entries(entries.c.kind == "settled", entries.c.dataset == dataset).limit(1)
        return next(iter(self._run_query(query)), None)

    def sequence_of_number(self, told: int | None) -> int | None:
        """The ledger's number of the line that the reader knows by this one: an analyst counts their own questions."""
        if told is None or self.analyst is None:
            return told
        known = self._select_entries(entries.c.number == told, entries.c.kind.in_(COUNTED)).limit(1)
        return next((entry.sequence for entry in self._run_query(known)), 0)

    def visible_number(self, line: Entry) -> int:
        """The number that the reader knows a line by."""
        return line.sequence if self.analyst is None else line.analyst_number

    def cut_at_numbered_line(self, lines: Sequence[Entry]) -> list[Entry]:
        """The same up to the last that the reader has a number for, so that the next page can begin after it."""
        ends = [place for place, line in enumerate(lines, 1) if self.analyst is None or line.number is not None]
        return list(lines[: ends[-1]]) if ends else list(lines)

    def settlements(self, reserved: Sequence[int]) -> dict[int, Entry]:
        """The entries that ended these reservations, by the number of the reservation."""
        if not reserved:
            return {}
        query = select(entries).where(is_ending(), entries.c.receipt.in_(reserved))
        return {entry.receipt: entry for entry in self._run_query(query) if entry.receipt is not None}

    def entries_by_number(self, numbers: Sequence[int]) -> list[Entry]:
        """The entries with these numbers."""
        return self._run_query(select(entries).where(entries.c.sequence.in_(numbers))) if numbers else []

    def _lines(self, before: int | None) -> Select[tuple[object, ...]]:
        query = self._select_entries(entries.c.kind.not_in(ENDINGS), entries.c.dataset.in_(self.datasets))
        return query if before is None else query.where(entries.c.sequence < before)

    def _select_entries(self, *conditions: object) -> Select[tuple[object, ...]]:
        query = select(entries).where(*conditions).order_by(entries.c.sequence.desc())  # type: ignore[arg-type]
        return query if self.analyst is None else query.where(entries.c.analyst == self.analyst)

    def _run_query(self, query: Select[tuple[object, ...]]) -> list[Entry]:
        def work(connection: Connection) -> list[Entry]:
            return [to_entry(row) for row in connection.execute(query)]

        return self.database.read(work)
