"""What an engine cannot do, as tests that must fail: one that passes after all fails the run, and its line must go.

A reason stands with the tests that show it, by name, with the parameters in brackets where only some of them fail.
`crestline sources` prints the reasons (`scripts/engines.py` writes them down).
"""

from __future__ import annotations

GAPS: dict[str, dict[str, tuple[str, ...]]] = {
    "duckdb": {},
    "embedded": {},
    "postgres": {},
    "pyspark": {},
    "sqlite": {
        "decimals are read as doubles": (
            "test_ties_are_in_byte_order_and_labels_are_plain_values[decimal]",
            "test_groups_of_every_type[decimal]",
            "test_users_of_items_of_every_type[decimal]",
            "test_comparisons_are_defined_for_every_value[decimal(38,0)]",
            "test_comparisons_are_defined_for_every_value[decimal(38,38)]",
        ),
    },
}


def gap(engine: str, test: str) -> str | None:
    """Why a test of an engine must fail; None when it must pass."""
    for reason, tests in GAPS[engine].items():
        if test in tests or test.partition("[")[0] in tests:
            return reason
    return None
