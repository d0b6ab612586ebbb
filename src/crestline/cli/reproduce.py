"""`crestline reproduce` passes its arguments to the package `reproduction`, which is beside crestline in a checkout."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import typer

from crestline.errors import ParameterError

CHECKOUT = Path(__file__).resolve().parents[3]
MISSING = (
    "the experiments are not part of the installed package: get crestline's source (git clone) and run "
    "`python -m reproduction --all` in its folder"
)


def reproduce(context: typer.Context) -> None:
    """Run the experiments of the papers again, with our mechanisms beside theirs. Needs a checkout of the source.

    The installed package does not hold the experiments. In the folder of a checkout `python -m reproduction` is the
    same command, and --help lists its options. Example: crestline reproduce --quick --data papers/data
    """
    if _can_import_reproduction():
        import_module("reproduction.command").app(context.args, prog_name="crestline reproduce")
    elif {"-h", "--help"} & set(context.args):
        typer.echo(context.get_help())
    else:
        raise ParameterError(MISSING)


def _can_import_reproduction() -> bool:
    """Whether `reproduction` can be imported; also looks in the checkout that crestline runs from."""
    if (CHECKOUT / "reproduction" / "command.py").is_file() and str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    return find_spec("reproduction") is not None
