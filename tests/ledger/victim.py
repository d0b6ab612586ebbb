"""A process that reserves, releases and settles until it is killed, again and again; and a check of its ledger after.

    python -m tests.ledger.victim FOLDER random|grid KILLS [ADDRESS]

Prints, as JSON, how many were killed and in which state they left their last question. With an address, of a database
on a server, all use that one. Some processes ask in eight threads at once, whose questions are written together, and
some ledgers have a witness.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.ledger.conftest import EPSILON, drawn, small_budget

from crestline.ledger.budget import Budget, Window
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge
from crestline.periods.calendar import Calendar, Periods

_KILLS_PER_FILE = 50
_STEPS = range(8)  # over two questions: opened, reserved, released, settled, reserved, …
_PERIOD = "2026-10"
_REACH = PeriodCharge(Periods.from_labels(Calendar("month", "day"), "2026-09", _PERIOD))


def by_period(budget: Budget) -> Budget:
    """The same for each month: every question is about two of them, and about the windows that meet these."""
    cap = Window(3, 3 * budget.epsilon, budget.delta * 3, kind="pure")
    return Budget(budget.epsilon, budget.delta, "pure", per="month", time="day", cap=cap)


def reach_of(ledger: Ledger) -> PeriodCharge | None:
    return None if ledger.budget.calendar is None else _REACH


def witness_of(releases: Path) -> Path | None:
    """The witness of a ledger: every second file has one."""
    name = releases.stem.partition("-")
    return releases.with_suffix(".witness") if name[0].isdecimal() and int(name[0]) % 2 else None


def live(address: str, releases: Path, ready: int, threads: int) -> None:
    """Ask for ever. A release is a line in a file that is on disk before the settlement begins, and so is what the
    settlement came to, once it came to something.

    Each step is told to the parent, so that it can kill at a step, however slow the machine is.
    """
    out = os.open(releases, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(*words: object) -> None:
        os.write(out, f"{' '.join(map(str, words))}\n".encode())
        os.fsync(out)

    with Ledger.open(address, witness=witness_of(releases)) as ledger:
        os.write(ready, b"!")
        reach = reach_of(ledger)

        def ask(number: int) -> None:
            choice = random.Random(f"{os.getpid()} {number}")
            while True:
                receipt = ledger.reserve(drawn(4), reach=reach)
                os.write(ready, b"!")
                paid = choice.randint(1, 4)
                tell(receipt.number, paid)
                os.write(ready, b"!")
                ledger.settle(receipt, drawn(paid))
                tell(receipt.number, paid, "settled")
                os.write(ready, b"!")

        crowd = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()


def kill_one(address: str, releases: Path, steps: int, delay: float, threads: int) -> None:
    """Start a process, let it take some steps, give it a moment, and kill it without warning."""
    listen, ready = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            live(address, releases, ready, threads)
        finally:
            os._exit(1)
    os.close(ready)
    for _ in range(1 + steps):
        os.read(listen, 1)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(listen)
    assert os.WIFSIGNALED(status), "the process ended by itself: its ledger failed"


def check(address: str, releases: Path) -> str:
    """The ledger re-opens, verifies, and shows no less than what was released, and where the last question was left."""
    lines = [line.split() for line in releases.read_text().splitlines()] if releases.exists() else []
    released = {int(number): int(paid) * EPSILON for number, paid, *_ in lines}
    acknowledged = {int(number): int(paid) * EPSILON for number, paid, *settled in lines if settled}
    with Ledger.open(address, witness=witness_of(releases)) as ledger:
        assert ledger.verify().findings == ()
        history = [entry.content for entry in ledger.history()]
        period = None if reach_of(ledger) is None else _PERIOD
        assert ledger.spent(period=period).loss >= sum(released.values())
    held = {one["sequence"]: Fraction(one["charge"][0]["epsilon"]) for one in history if one["kind"] == "reserved"}
    paid = {one["receipt"]: Fraction(one["charge"][0]["epsilon"]) for one in history if one["kind"] == "settled"}
    for number, loss in released.items():
        assert paid.get(number, held[number]) >= loss, "a release without its charge"
    assert all(paid.get(number) == loss for number, loss in acknowledged.items()), "a settlement was lost"
    last = max(held, default=0)
    if last in paid or not last:
        return "settled"
    return "released" if last in released else "reserved"


@dataclass(frozen=True)
class Kill:
    """When a process is killed: some seconds after some steps of each of its threads; and the budget of its ledger."""

    steps: int
    delay: float
    threads: int
    by_period: bool


def random_kills(kills: int) -> list[Kill]:
    """Every other one at any moment, the others soon after a step."""
    choice = random.Random(kills)
    made = []
    for number in range(kills):
        steps, moment = (0, 0.02) if number % 2 == 0 else (choice.randint(0, 8), 0.001)
        threads, other = 8 if number % 3 == 2 else 1, number // _KILLS_PER_FILE % 2 == 1
        made.append(Kill(steps, choice.uniform(0, moment), threads, other))
    return made


def grid_of_kills(kills: int) -> list[Kill]:
    """Every step of two questions, at once and a moment later, in one thread and in eight, of each kind of budget."""
    cells = itertools.product((False, True), _STEPS, (0.0, 0.001), (1, 8))
    grid = [Kill(steps, delay, threads, by_period) for by_period, steps, delay, threads in cells]
    return [grid[number % len(grid)] for number in range(kills)]


PLANS = {"random": random_kills, "grid": grid_of_kills}


def main(folder: Path, plan: str, kills: int, server: str | None) -> None:
    states: Counter[str] = Counter()
    for number, kill in enumerate(PLANS[plan](kills)):
        file = folder / f"{number // _KILLS_PER_FILE}-{kill.by_period}.db"
        address, releases = server or str(file), file.with_suffix(".released")
        releases = releases.with_name(f"server-{releases.name}") if server else releases
        if not releases.exists():
            releases.touch()
            whole = small_budget(10**6)
            budget = by_period(whole) if kill.by_period else whole
            Ledger.create(address, budget, witness=witness_of(releases)).close()
        kill_one(address, releases, kill.steps * kill.threads, kill.delay, kill.threads)
        states[check(address, releases)] += 1
    print(json.dumps(states))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else None)
