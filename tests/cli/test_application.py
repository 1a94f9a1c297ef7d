from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import dlrmc
from dlrmc.cli import application

Cli = Callable[..., Any]


def run_process(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "dlrmc", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=120)


def test_help_names_every_command(cli: Cli) -> None:
    done = cli("--help")
    assert done.code == 0
    for name, _ in application.COMMANDS:
        assert name in done.out
        assert cli(name, "-h").code == 0


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"dlrmc {dlrmc.__version__}\n"


@pytest.mark.parametrize("arguments", [("dump",), ("dump-ir",), ("dump-ir", "x", "--no-such"), ("run", "x")])
def test_bad_usage_is_exit_code_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "dlrmc" in done.err


def test_debug_shows_the_traceback_of_an_error(cli: Cli) -> None:
    with pytest.raises(dlrmc.errors.InputError):
        application.main(["dump-ir", "nowhere.pt2", "--debug"])


def test_a_fault_of_the_program_is_exit_code_3(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ZeroDivisionError("sizes")

    monkeypatch.setattr("dlrmc.cli.dump_ir.read_program", fail)
    done = cli("dump-ir", "x.pt2")
    assert done.code == 3
    assert done.err.startswith("internal error: ZeroDivisionError: sizes\n")
    assert "--debug" in done.err


def test_a_process_exits_with_the_code_and_a_clean_error() -> None:
    done = run_process("dump-ir", "-", stdin=b"graph {")
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"error: standard input:1:")
    assert b"Traceback" not in done.stderr
    assert b"Traceback" in run_process("dump-ir", "-", "--debug", stdin=b"graph {").stderr


def test_a_reader_that_goes_away_ends_the_program_quietly() -> None:
    text = b"graph @g {\n  input %x : f32[2]\n  return %x\n}\n"
    command = [sys.executable, "-m", "dlrmc", "dump-ir", "-", "--stage", "import"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        command, input=text, stdout=write_end, stderr=subprocess.PIPE, check=False, timeout=120
    )
    os.close(write_end)
    assert done.stderr == b""
    assert done.returncode == application.EXIT_USER_ERROR


@pytest.mark.parametrize("command", [("doctor",), ("opt", "--list-passes"), ("dump-ir", "-"), ("--help",)])
def test_what_cannot_be_printed_is_an_error_of_its_own(command: tuple[str, ...]) -> None:
    text = b"graph @g {\n  input %x : f32[2]\n  return %x\n}\n"
    with open("/dev/full", "wb") as full:
        arguments = [sys.executable, "-m", "dlrmc", *command]
        done = subprocess.run(
            arguments, input=text, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120
        )
    assert done.returncode == application.EXIT_USER_ERROR
    assert done.stderr == b"error: standard output: No space left on device\n"


@pytest.mark.parametrize(
    ("redirection", "error"),
    [
        (">&-", b"error: standard output: closed\n  expected: a place to write to\n"),
        (
            "<&-",
            b"error: standard input: closed\n  expected: a .pt2 archive or IR text\n",
        ),
    ],
)
def test_a_closed_stream_is_told(redirection: str, error: bytes) -> None:
    text = b"graph @g {\n  input %x : f32[2]\n  return %x\n}\n"
    command = f"{sys.executable} -m dlrmc dump-ir - {redirection}"
    done = subprocess.run(command, shell=True, input=text, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(error)


def test_a_name_that_the_terminal_cannot_show_is_escaped() -> None:
    text = 'graph @g {\n  weight %w : f32[2] = "größe"\n  return %w\n}\n'
    command = [sys.executable, "-m", "dlrmc", "dump-ir", "-", "--format", "dot", "--stage", "import"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, check=False, timeout=120, env=environment
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gr\\xf6\\xdfe" in done.stdout


def test_help_needs_neither_torch_nor_networkx() -> None:
    code = (
        "import sys\n"
        "from dlrmc.cli.application import main\n"
        "try:\n    main(['dump-ir', '--help'])\n"
        "except SystemExit:\n    pass\n"
        "print([m for m in ('torch', 'cupy', 'networkx', 'numpy') if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr.strip() == "[]"


def test_help_is_quick() -> None:
    before_s = child_cpu_s()
    assert run_process("--help").returncode == 0
    # CPU time, which a busy machine does not stretch much: 0.4 s measured, 3 s if torch were imported.
    assert child_cpu_s() - before_s < 1.2


def child_cpu_s() -> float:
    """CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
