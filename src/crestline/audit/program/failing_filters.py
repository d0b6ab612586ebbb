"""Failing filters: conditions that an engine may evaluate for some rows and fail on for others (data only).

The attack is `p and q`: `p` holds for one user only, and `q` is a comparison that an engine may be unable to make for
some value of its column. An engine that fails only when a row reaches `q` reveals whether that user is in the table.

Every column is tried with every literal and every operator. Literals are joined into chains that no engine can cut
short: `or` while every part is false, `and` while every part is true. So a few statements make every comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

USER = "mallory"
"""The user by whom two neighbouring tables differ."""

ONLY_THE_USER = f"user = '{USER}'"
"""The condition `p`, which only that user's rows satisfy."""

# Numbers around the limits of every column type, and beyond all of them.
NUMBERS = (
    "0", "1", "-1", "5", "127", "128", "-129", "255", "256", "32768", "65536", "2147483647", "2147483648",
    "-2147483649", "4294967296", "1099511627776", "1000000000000000001", "9000000000000000000",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9.3e18",
    "18446744073709551615", "18446744073709551616", "1e38", "99999999999999999999999999999999999999",
    "170141183460469231731687303715884105728", "1e39", "1e300", "-1e300",
    "0.1", "-0.5", "0.00012345678901234567", "1.00000000000000000001", "123456789012345678.5",
    "99999999999999999999.99999999999999999999", "1e-20", "1e-300",
)  # fmt: skip
TEXTS = (
    "'a'", "''", "'5'", "'-1'", "'1e400'", "'0x10'", "' 7 '", "'nan'", "'inf'", "'true'", "'it''s'", "'é😀'",
    "'00000000-0000-0000-0000-000000000001'",
)  # fmt: skip
MOMENTS = (
    "'2026-01-31'", "'0001-01-01'", "'9999-12-31'", "'1677-09-21'", "'2262-04-12'", "'2500-01-01'", "'1000-01-01'",
    "'2026-02-30'", "'2026-01-31 12:00:00'", "'2026-01-31T12:00:00.123456'", "'2026-01-31 12:00:00.123456789'",
    "'2500-01-01 00:00:00'", "'9999-12-31 23:59:59.999999'", "'0001-01-01 00:00:00+14:00'",
    "'9999-12-31 23:59:59-14:00'", "'2026-01-31 12:00:00+02:00'", "'infinity'", "'now'",
)  # fmt: skip
TRUTHS = ("true", "false")
LITERALS = (*NUMBERS, *TEXTS, *MOMENTS, *TRUTHS)
PATTERNS = ("'%'", "'a%'", "'_'", "''", "'%é%'", "'[a]%'", "'%%%'")
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
CLIPS = (1, 10**6, 10**6 + 1, 2**31, 2**62, 2**63 - 1)  # a question cannot have a larger one


@dataclass(frozen=True)
class Column:
    """A column of a test table. Timestamps and dates are integers since 1970, because Python's calendar is too short.

    Attributes:
        name: Its name.
        kind: Its Arrow type.
        usual: Values of ordinary users.
        ends: Extreme values, which the one user has.
    """

    name: str
    kind: str
    usual: tuple[object, object, object]
    ends: tuple[object, ...]

    @property
    def is_number(self) -> bool:
        """Whether its type is numeric."""
        return self.kind.startswith(("int", "uint", "decimal", "float", "double"))

    @property
    def literals(self) -> list[str]:
        """Literals that may be comparable with this column, sorted by `sort_literals`; an engine may refuse some."""
        if self.is_number:
            return sort_literals(NUMBERS)
        if self.kind == "bool":
            return list(TRUTHS)
        if self.kind.startswith(("timestamp", "date")):
            return sort_literals(MOMENTS)
        return sort_literals((*TEXTS, *MOMENTS)) if self.kind == "string" else []


def _integer_column(kind: str, bits: int, signed: bool) -> Column:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return Column(kind, kind, (1, 2, 5), (low, high, 0, 7, None))


def _decimal(digits: int, scale: int) -> Column:
    high = Decimal((0, (9,) * digits, -scale))
    kind = f"decimal128({digits}, {scale})"
    one = Decimal("0.1") if digits == scale else Decimal(1)
    return Column(f"decimal_{digits}_{scale}", kind, (one, 2 * one, 5 * one), (high, high.copy_negate(), Decimal(0)))


def _timestamp_column(unit: str, per_second: int, zone: str) -> Column:
    """A timestamp column with the limits of 64 bits, of microseconds and of Python's calendar as extreme values."""
    noon = 1_769_860_800 * per_second
    largest = 2**63 - 1
    beyond = [n * per_second for n in (253_402_300_800, -62_135_596_801, 9_223_372_036_855, -9_223_372_022_401)]
    ends = [n for n in (*beyond, largest - 1, -largest + 1, 0) if abs(n) < largest]
    kind = f"timestamp[{unit}{', tz=' + zone if zone else ''}]"
    return Column(f"at_{unit}{'_zone' if zone else ''}", kind, (noon, noon + per_second, 0), (*ends, None))


COLUMNS: tuple[Column, ...] = (
    Column("text", "string", ("1", "b", ""), ("5", "nan", "1e999", "9" * 40, "\\", "é😀", "2026-01-31", None)),
    *(_integer_column(f"int{bits}", bits, True) for bits in (8, 16, 32, 64)),
    *(_integer_column(f"uint{bits}", bits, False) for bits in (8, 16, 32, 64)),
    *(_decimal(*shape) for shape in ((4, 0), (9, 2), (18, 4), (18, 18), (20, 6), (38, 0), (38, 10), (38, 38))),
    Column("single", "float", (1.0, 2.0, 5.5), (float("nan"), float("inf"), float("-inf"), 3.4e38, 1e-45, -0.0)),
    Column("double", "double", (1.0, 2.0, 5.5), (float("nan"), float("inf"), float("-inf"), 1.7e308, 5e-324, -0.0)),
    Column("truth", "bool", (True, False, True), (True, False, None)),
    Column("day", "date32[day]", (20_000, 20_001, 0), (2_932_897, -719_163, 2**31 - 2, -(2**31) + 3, None)),
    *(_timestamp_column(unit, size, zone) for unit, size in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9))
      for zone in ("", "UTC")),
    Column("raw", "binary", (b"a", b"b", b""), (b"\xff\x00", b"\x80" * 40, None)),
)  # fmt: skip


def comparison_chains(column: str, literals: Sequence[str]) -> Iterator[str]:
    """Conditions that together compare `column` with every literal by every operator.

    An engine evaluates a chain of `or` up to its first true part, and a chain of `and` up to its first false part.
    Literals must be in rising order (`sort_literals`): with one operator ascending and the other descending, no part
    is skipped.
    """
    if not literals:
        return
    parts = {sign: [f"{column} {sign} {literal}" for literal in literals] for sign in OPERATORS}
    yield _join_conditions(" or ", parts["="])
    yield _join_conditions(" and ", parts["<>"])
    for below in ("<", "<="):
        yield _join_conditions(" or ", parts[below])
        yield _join_conditions(" and ", parts[below][::-1])
    for above in (">", ">="):
        yield _join_conditions(" and ", parts[above])
        yield _join_conditions(" or ", parts[above][::-1])
    yield f"{column} in ({', '.join(literals)})"
    across = zip(literals, [*literals[len(literals) // 2 :], *literals], strict=False)
    yield _join_conditions(" or ", [f"{column} in ({one}, {other})" for one, other in across])
    betweens = (f"{column} between {low} and {high}" for low, high in zip(literals, literals[::-1], strict=True))
    yield _join_conditions(" or ", list(betweens))


def _join_conditions(word: str, parts: Sequence[str]) -> str:
    return f"({word.join(parts)})"


def filter_variants(condition: str) -> tuple[str, ...]:
    """A condition `q` in positions where an engine may or may not evaluate it."""
    return (f"{ONLY_THE_USER} and {condition}", f"not ({ONLY_THE_USER} and not {condition})", condition)


def sort_literals(literals: Iterable[str]) -> list[str]:
    """Numbers by size, then all other literals as text: the order that `comparison_chains` requires."""
    numbers: list[str] = []
    others: list[str] = []
    for literal in literals:
        (others if literal.startswith("'") or literal in TRUTHS else numbers).append(literal)
    return [*sorted(numbers, key=Decimal), *sorted(others)]


# Filters that failed in version 0.1: they are tried before all others, which a time limit may leave out.
KNOWN: tuple[tuple[str, str], ...] = (
    ("text", "text in (5, 'a')"),
    ("int64", "int64 in (0.00012345678901234567, 9223372036854775807)"),
    ("decimal_38_0", "decimal_38_0 in (0.00012345678901234567, 9223372036854775807)"),
    ("decimal_9_2", "decimal_9_2 in (0.00012345678901234567, 9223372036854775807)"),
    ("at_ns", "at_ns < '2500-01-01'"),
    ("at_ns_zone", "at_ns_zone < '2500-01-01'"),
    ("at_s", "at_s < '2026-01-31'"),
    ("at_ms", "at_ms >= '2026-01-31'"),
    ("decimal_38_10", "decimal_38_10 < 9000000000000000000"),
    ("decimal_38_38", "decimal_38_38 < 9000000000000000000"),
    ("int64", "int64 = 1000000000000000000.5"),
    ("uint64", "uint64 > 0.5"),
)
