"""Many processes at one small budget: each asks as fast as it can and writes down what it was told.

python -m tests.ledger.crowd ADDRESS FOLDER PROCESSES QUESTIONS
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.ledger.conftest import drawn
from tests.patience import PATIENCE

from crestline.errors import BudgetExhausted
from crestline.ledger.ledger import Ledger

DAY = datetime(2026, 11, 1, tzinfo=UTC)  # one day, by which refusals are counted


def ask(address: str, log: Path, questions: int, start: int) -> None:
    """One process: wait for the start, ask, and keep a record."""
    choice = random.Random(log.name)
    with Ledger.open(address, timeout=PATIENCE, clock=lambda: DAY) as ledger, log.open("w") as record:
        os.read(start, 1)
        for _ in range(questions):
            wanted = choice.randint(1, 4)
            try:
                receipt = ledger.reserve(drawn(wanted))
            except BudgetExhausted:
                print(json.dumps({"refused": wanted}), file=record)
                continue
            paid = choice.randint(1, wanted)
            ledger.settle(receipt, drawn(paid))
            print(json.dumps({"granted": wanted, "paid": paid, "receipt": receipt.number}), file=record)


def main(address: str, folder: Path, processes: int, questions: int) -> None:
    Ledger.open(address).close()  # load everything once, before there are many of us
    start, go = os.pipe()
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            os.close(go)
            status = 1
            try:
                ask(address, folder / f"{number}.log", questions, start)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    os.write(go, b"!" * processes)
    failures = [child for child in children if os.waitpid(child, 0)[1] != 0]
    sys.exit(f"{len(failures)} processes failed" if failures else 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
