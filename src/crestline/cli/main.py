"""The command `crestline`: its commands, and its exit codes.

Exit codes   0 done   1 something was found (audit, verify)   2 the call is wrong   3 the ledger refused
             4 a source or a ledger did not answer   70 an internal error   130 interrupted
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from importlib import import_module
from shlex import quote

import typer

from crestline.errors import BudgetError, CrestlineError, LedgerError, SourceError

EXIT_WRONG = 2
EXIT_REFUSED = 3
EXIT_UNAVAILABLE = 4
EXIT_INTERNAL_ERROR = 70
EXIT_INTERRUPTED = 130

# Modules of the commands, in the order of the help; a function of the same name is the command.
COMMANDS = (
    *("init", "check", "top", "ask", "sql", "plan", "price", "explain", "mechanisms", "sources"),
    *("account", "audit", "reproduce", "serve", "mcp", "demo"),
)
GROUPS = ("ledger", "token", "report")  # groups of commands: each module has a `…_app`

_EXAMPLE = re.compile(r"Examples?: (crestline .+?)(?:, crestline .*|   crestline .*)?$", re.MULTILINE)
_PLAIN_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "a whole number is needed",
    "Input should be a valid number, unable to parse string as a number": "a number is needed",
    "Input should be": "it must be",
}

# Arguments in the messages of errors, with the values that those suggest.
_ARGUMENT = re.compile(r"\b(epsilon|delta|kind|per|time|mechanism|score|clip|last|open|passes)='?([\w.()-]+)'?")

# Commands that pass every argument, including --help, to another package.
HANDED_ON = {"reproduce"}
HAND_ON = {"ignore_unknown_options": True, "allow_extra_args": True}

app = typer.Typer(
    name="crestline",
    help="Differentially private top-k over any database.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from crestline import __version__

        typer.echo(f"crestline {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Differentially private top-k over any database."""


for _name in COMMANDS:
    _on = _name in HANDED_ON
    app.command(_name, context_settings=HAND_ON if _on else None, add_help_option=not _on)(
        getattr(import_module(f"crestline.cli.{_name}"), _name)
    )
for _name in GROUPS:
    app.add_typer(getattr(import_module(f"crestline.cli.{_name}"), f"{_name}_app"), name=_name)


def main() -> None:
    """Run the command and exit. No traceback is printed, because it could contain private rows."""
    code = run(sys.argv[1:])
    if code == EXIT_INTERRUPTED:
        _exit_at_once(code)
    sys.exit(code)


def _exit_at_once(code: int) -> None:
    """Exit without cleanup.

    After an interrupt the state is unknown: drivers would wait for their threads or report what is left open, and
    Python, if it was interrupted in an import, would exit with another code.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the stream has no reader, or is closed
            stream.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code."""
    try:
        return _exit_status(app(arguments, prog_name="crestline", standalone_mode=False) or 0)
    except SystemExit as end:
        return _exit_status(end.code)
    except CrestlineError as error:
        typer.echo(f"crestline: {_in_options(str(error))}", err=True)
        return _exit_code(error)
    except KeyboardInterrupt:
        return _exit_status(EXIT_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader closed the pipe: not an error
        return 0
    except Exception as error:  # the message of another library may quote private rows
        if hasattr(error, "format_message"):  # of Typer, or of Click where Typer is older
            context = getattr(error, "ctx", None)
            command = ("crestline", "") if context is None else (context.command_path, context.command.help or "")
            return _print_usage_error(error.format_message(), *command)
        if type(error).__name__ == "Abort":  # likewise: Ctrl-C
            return _exit_status(EXIT_INTERRUPTED)
        if os.environ.get("CRESTLINE_DEBUG"):
            raise
        typer.echo(
            f"crestline: internal error ({type(error).__name__}). Set CRESTLINE_DEBUG=1 for a traceback, and please "
            "report it.",
            err=True,
        )
        return EXIT_INTERNAL_ERROR


def _in_options(message: str) -> str:
    """A message with options, `--kind pure`, where it names arguments of Python, `kind='pure'`."""
    return message if "Budget(" in message else _ARGUMENT.sub(lambda found: f"--{found[1]} {quote(found[2])}", message)


def _print_usage_error(text: str, command: str, help_text: str) -> int:
    """Print one sentence on what is wrong with the arguments, and the command's own example."""
    for words, plain in _PLAIN_WORDS.items():
        text = text.replace(words, plain)
    example = _EXAMPLE.search(help_text)
    more = f"write, for example: {example[1]}" if example else f"see {command} --help"
    if text:  # empty where help was printed
        typer.echo(f"crestline: {text[:1].lower()}{text[1:].rstrip('.')}; {more}", err=True)
    return EXIT_WRONG


def _exit_status(code: object) -> int:
    """Exit code of a command that ended by itself; prints a message after an interrupt."""
    if code == EXIT_INTERRUPTED:
        typer.echo("crestline: interrupted; what was reserved stays charged", err=True)
    return code if isinstance(code, int) else EXIT_WRONG


def _exit_code(error: CrestlineError) -> int:
    if isinstance(error, BudgetError):
        return EXIT_REFUSED
    if isinstance(error, SourceError | LedgerError):
        return EXIT_UNAVAILABLE
    return EXIT_WRONG
