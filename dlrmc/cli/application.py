"""The command line as a whole: its commands, its exit codes, and how errors reach the user."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

from dlrmc import __version__
from dlrmc.cli.bench import bench_app
from dlrmc.cli.doctor import doctor
from dlrmc.cli.dump_cuda import dump_cuda
from dlrmc.cli.dump_ir import dump_ir
from dlrmc.cli.opt import opt
from dlrmc.cli.profile import profile
from dlrmc.cli.run import run
from dlrmc.errors import DlrmcError

EXIT_USER_ERROR = 1
EXIT_INTERNAL_ERROR = 3
DEBUG_FLAG = "--debug"

COMMANDS = (
    ("dump-ir", dump_ir),
    ("dump-cuda", dump_cuda),
    ("opt", opt),
    ("run", run),
    ("profile", profile),
    ("doctor", doctor),
)


def build_app() -> typer.Typer:
    """The application with all its commands."""
    app = typer.Typer(
        name="dlrmc",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit codes: 0 done, 1 bad input, 2 bad usage, 3 a fault of dlrmc itself.",
    )
    app.callback()(_root)
    for name, function in COMMANDS:
        app.command(name)(function)
    app.add_typer(bench_app(), name="bench")
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process.

    Args:
        arguments: without the program's name; None for those of the process.

    Raises:
        SystemExit: always, with the exit code; an error is printed to standard error first.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG_FLAG in given
    rest = [argument for argument in given if argument != DEBUG_FLAG]
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        sys.exit(_run(rest, debug))


def _run(arguments: list[str], debug: bool) -> int:
    try:
        build_app()(args=arguments, prog_name="dlrmc")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else EXIT_USER_ERROR
    except DlrmcError as error:
        if debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USER_ERROR
    except OSError as error:
        # Files that a command names are told by name before; what is left is what it prints.
        if debug:
            raise
        print(f"error: {error.filename or 'standard output'}: {error.strerror or error}", file=sys.stderr)
        return EXIT_USER_ERROR
    except Exception as error:
        if debug:
            raise
        print(f"internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print(f"  to mend: run it again with {DEBUG_FLAG} and report the traceback", file=sys.stderr)
        return EXIT_INTERNAL_ERROR
    return 0


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dlrmc {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version),
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG_FLAG, help="Show a traceback with an error.")] = False,
) -> None:
    """Compile recommender models from torch.export into specialised CUDA, and look at what became of them."""


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as one line on standard error, without the place in the source that raised it."""
    print(f"warning: {message}", file=file or sys.stderr)
