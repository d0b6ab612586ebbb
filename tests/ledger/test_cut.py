"""Connections to the server are cut while eight threads charge: no answer without a charge, and none charged twice."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from tests.ledger.conftest import EPSILON, drawn, small_budget
from tests.patience import PATIENCE

from crestline.errors import LedgerError
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt, RequestKey

pytestmark = [pytest.mark.engines, pytest.mark.slow]

LITTLE = Fraction(1, 10**15)
"""δ of a charge: any number of them fits, however fast the machine is."""
CUT = (
    "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() "
    "and datname = current_database()"
)


@pytest.mark.parametrize("cuts", [12, pytest.param(287, marks=pytest.mark.full)])
@pytest.mark.parametrize("has_witness", [False, True])
def test_cut_connections(tmp_path: Path, postgres_database: str, cuts: int, has_witness: bool) -> None:
    witness = tmp_path / "witness" if has_witness else None
    receipts, settled, failed = dict[str, Receipt](), list[int](), Counter[str]()
    done = threading.Event()

    def ask(ledger: Ledger, name: int) -> None:
        turn = 0
        while not done.is_set():
            turn += 1
            question = {"asked": f"{name} {turn}"}
            key = RequestKey(f"{name} {turn}")
            try:
                receipt = ledger.find_or_reserve(drawn(2, LITTLE), question=question, request=key)
                assert isinstance(receipt, Receipt)
                receipts[question["asked"]] = receipt
                ledger.settle(receipt, drawn(1, LITTLE), answer=turn)
                settled.append(receipt.number)
            except LedgerError:
                failed["reserve" if question["asked"] not in receipts else "settle"] += 1

    choice = random.Random(cuts)
    with Ledger.create(postgres_database, small_budget(10**6), witness=witness) as ledger:
        crowd = [threading.Thread(target=ask, args=(ledger, name)) for name in range(8)]
        for one in crowd:
            one.start()
        with psycopg.connect(postgres_database, autocommit=True) as admin:
            for _ in range(cuts):
                time.sleep(choice.uniform(0.0, 0.06))
                admin.execute(CUT)
        done.set()
        for one in crowd:
            one.join(PATIENCE)
    assert failed.total() > 0, "nothing was cut"
    assert settled
    with Ledger.open(postgres_database, witness=witness) as again:
        assert again.verify().findings == ()
        entries = again.history()
        paid = again.spent().loss
    reserved = {entry.sequence: entry for entry in entries if entry.kind == "reserved"}
    charged = Counter(entry.content["question"]["asked"] for entry in reserved.values())
    assert all(times == 1 for times in charged.values()), "charged twice"
    assert all(reserved[receipt.number].hash == receipt.hash for receipt in receipts.values())
    kept = {entry.receipt for entry in entries if entry.kind == "settled"}
    assert set(settled) <= kept, "a settlement was lost"
    assert paid == EPSILON * (2 * len(reserved) - len(kept))
