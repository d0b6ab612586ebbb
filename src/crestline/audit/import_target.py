"""Import `MODULE:OBJECT`: an object to audit, or a class or function without arguments that returns one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from crestline.audit.target import Auditable
from crestline.errors import MechanismError


def load(target: str, folder: Path) -> Auditable:
    """Import what a target names, and call it if it is a class or function that returns the mechanism.

    The module is imported, so its code runs.

    Args:
        target: `package.module:object` or `path/to/file.py:object`.
        folder: Folder in which modules and files are looked up first.

    Returns:
        The mechanism.

    Raises:
        MechanismError: The target is malformed, cannot be imported or called, or is no mechanism.
    """
    return _make_auditable(_find_object(target, folder), target)


def load_function(target: str, folder: Path) -> Callable[..., Any]:
    """Import the function that a target names; see `load`.

    Raises:
        MechanismError: The target is malformed, cannot be imported, or is not callable.
    """
    value = _find_object(target, folder)
    if not callable(value):
        raise MechanismError(f"{target} is not a function; a program is called with the path of a table")
    function: Callable[..., Any] = value
    return function


def _find_object(target: str, folder: Path) -> object:
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise MechanismError(f"name what to audit as MODULE:OBJECT, for example my_package:MyMechanism, not {target!r}")
    value: object = _import_module_at(place, folder)
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise MechanismError(f"{place} has no {part!r}") from None
    return value


def _make_auditable(value: object, target: str) -> Auditable:
    if callable(value) and (isinstance(value, type) or not isinstance(value, Auditable)):
        try:
            value = value()
        except Exception as error:  # code of another author may raise anything
            raise MechanismError(
                f"{target} could not be made without arguments ({type(error).__name__}: {error}); "
                "name an object, or a function without arguments that makes one"
            ) from error
    if not isinstance(value, Auditable):
        raise MechanismError(f"{target} has no guarantee() and release(histogram, entropy)")
    return value


def _import_module_at(place: str, folder: Path) -> ModuleType:
    try:
        if place.endswith(".py"):
            return _import_file(folder / place)
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        return importlib.import_module(place)
    except Exception as error:  # importing runs code of another author, which may raise anything
        raise MechanismError(f"{place} could not be imported ({type(error).__name__}: {error})") from error


def _import_file(path: Path) -> ModuleType:
    if not path.exists():
        raise MechanismError(f"there is no file {path.name}")
    sys.path.insert(0, str(path.parent))  # so that the file can import modules beside it
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look up their module by name
    spec.loader.exec_module(module)
    return module
