"""Keys: what signs tokens and sessions. They are in a file of their own, and never in the database of the ledger.

So a row that is written into that database lets no one in. While a key is rotated the file holds two: the first signs,
both are accepted.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from itsdangerous import URLSafeSerializer

from crestline.errors import ParameterError
from crestline.ledger.storage.store import Store

_KEY = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)  # 256 random bits
_MOST = 2


class Keys:
    """One key, or two while one is rotated; the newest comes first."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys

    @classmethod
    def read(cls, path: Path) -> Keys:
        """The keys in a file.

        Raises:
            ParameterError: The file cannot be read, others may read it, or it holds no keys.
        """
        try:
            mode, lines = path.stat().st_mode, path.read_text("ascii").split()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a key file"
            raise ParameterError(f"key file {path}: it cannot be read ({reason})") from None
        if stat.S_IMODE(mode) & 0o077:
            raise ParameterError(f"key file {path}: others may read it, and could sign tokens: chmod 600 {path}")
        if not 1 <= len(lines) <= _MOST or not all(map(_KEY.fullmatch, lines)):
            raise ParameterError(f"key file {path}: it must hold one key, or two, as `crestline token` writes them")
        return cls(tuple(lines))

    @classmethod
    def read_or_create(cls, path: Path, store: Store) -> Keys:
        """The keys in a file, which is made where no token was ever made with this ledger.

        Raises:
            ParameterError: As `read`; or tokens were made, and the file that signed them is not here.
        """
        if not path.exists():
            if store.entries_about_tokens():
                raise ParameterError(
                    f"key file {path}: it is missing, and signed the tokens of this ledger: copy it from the machine "
                    "that has it, or make a new one with `crestline token rotate`, which ends all tokens"
                )
            with suppress(FileExistsError):  # another process was first
                _write(path, (_new_key(),), replace=False)
        return cls.read(path)

    @classmethod
    def rotate(cls, path: Path) -> None:
        """Put a new key first in the file. The one before is still accepted, and an older one is not."""
        before = cls.read(path)._keys[:1] if path.exists() else ()
        _write(path, (_new_key(), *before), replace=True)

    def signer(self, purpose: str) -> URLSafeSerializer:
        """Signs values for one purpose (HMAC with SHA-256), and reads what was signed for it."""
        options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        return URLSafeSerializer(list(reversed(self._keys)), salt=f"crestline {purpose}", signer_kwargs=options)


def _new_key() -> str:
    return secrets.token_urlsafe(32)


def _write(path: Path, keys: tuple[str, ...], *, replace: bool) -> None:
    """Write a key file that is whole at every moment, and that its owner alone may read."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, "".join(f"{key}\n" for key in keys).encode())
            os.fsync(file)
        finally:
            os.close(file)
        (os.replace if replace else os.link)(new, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise ParameterError(
            f"key file {path}: it cannot be written ({error.strerror}): make it elsewhere, or name another place with "
            "`key` in the configuration"
        ) from None
    finally:
        with suppress(OSError):
            new.unlink()
