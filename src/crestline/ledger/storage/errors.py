"""Database errors in plain words, with what to do next. Passwords, statements and parameters stay out."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from crestline.errors import LedgerError

NOT_A_LEDGER = "it is not a ledger: give the path of a file made by `crestline ledger create`"
DAMAGED = "the file is damaged: restore it from a backup, then run `crestline ledger verify`"
_NOTHING_LOST = "nothing was written and nothing is lost"

# Prefix of SQLite's error name, what happened.
_SQLITE = {
    "SQLITE_FULL": f"the disk is full; {_NOTHING_LOST}: free some space and try again",
    "SQLITE_READONLY": f"it cannot be written; {_NOTHING_LOST}: check the permissions of the file and of its directory",
    "SQLITE_BUSY": f"another process keeps it locked; {_NOTHING_LOST}: try again, or find that process",
    "SQLITE_LOCKED": f"another process keeps it locked; {_NOTHING_LOST}: try again, or find that process",
    "SQLITE_CANTOPEN": "it cannot be opened: check that the directory exists and that you may read and write there",
    "SQLITE_NOTADB": NOT_A_LEDGER,
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_IOERR": f"the disk reports an error (it may be full); {_NOTHING_LOST}: check the disk and try again",
    "SQLITE_PERM": "access is denied: check the permissions of the file and of its directory",
    "SQLITE_AUTH": "access is denied: check the permissions of the file and of its directory",
}

# Prefix of PostgreSQL's SQLSTATE, what happened.
_POSTGRES = {
    "53100": f"the server's disk is full; {_NOTHING_LOST}: free some space and try again",
    "53300": "the server has no free connection: try again, or raise max_connections",
    "25006": f"the server is read-only (a standby?); {_NOTHING_LOST}: give the address of the primary server",
    "55P03": f"another client keeps it locked; {_NOTHING_LOST}: try again, or find that client",
    "40": f"too many clients write at once; {_NOTHING_LOST}: try again",
    "28": "the server does not accept the user name or the password: check both",
    "3D000": "there is no such database on the server: create it, or check the name",
    "42501": "the user may not read or write the ledger's tables: grant the rights, or use another user",
    "57P": "the server is shutting down or starting up: try again",
}

_UNREACHABLE = "the server does not answer: check the address, the port and the network"

# libpq reports a refused connection without a code, in words only.
_CONNECTING = {
    "password authentication failed": _POSTGRES["28"],
    "no password supplied": _POSTGRES["28"],
    "no pg_hba.conf entry": "the server does not accept connections from this address: ask its administrator",
    "does not exist": "there is no such database or user on the server: create it, or check the name",
    "too many clients": _POSTGRES["53300"],
    "starting up": _POSTGRES["57P"],
    "shutting down": _POSTGRES["57P"],
}

RETRIED = ("40001", "40P01")


def ledger_error(error: SQLAlchemyError, address: str) -> LedgerError:
    """The error that is raised in place of the database's own, whose words may repeat statement and address."""
    return LedgerError(f"ledger {address}: {_error_reason(error)}")


def sqlstate(error: SQLAlchemyError) -> str:
    """The five letters by which PostgreSQL tells one error from another; empty where there are none."""
    return str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")


def _error_reason(error: SQLAlchemyError) -> str:
    if isinstance(error, PoolTimeout):
        return f"too many questions at once in this process; {_NOTHING_LOST}: try again"
    if not isinstance(error, DBAPIError):
        return f"the database interface failed ({type(error).__name__}): check the address"
    original = error.orig
    name = str(getattr(original, "sqlite_errorname", "") or "")
    if name:
        return _lookup(_SQLITE, name) or f"SQLite reports {name}: check the file, then run `crestline ledger verify`"
    if type(original).__module__.startswith("sqlite3"):
        return NOT_A_LEDGER
    return _postgres_error_reason(error)


def _postgres_error_reason(error: DBAPIError) -> str:
    code = sqlstate(error)
    if code and not code.startswith("08"):
        return (
            _lookup(_POSTGRES, code)
            or f"PostgreSQL reports {code}: check the server, then run `crestline ledger verify`"
        )
    words = str(error.orig)
    return next((reason for part, reason in _CONNECTING.items() if part in words), _UNREACHABLE)


def _lookup(table: dict[str, str], code: str) -> str | None:
    return next((reason for prefix, reason in table.items() if code.startswith(prefix)), None)
