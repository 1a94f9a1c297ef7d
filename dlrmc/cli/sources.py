"""What a command reads and writes: files, or standard input and output where the name is `-`."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from dlrmc.errors import InputError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from dlrmc.ir.graph import Graph

STANDARD = "-"
_ZIP_START = b"PK"
# torch writes colours into messages, and names a class that it does not load.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FOREIGN_CLASS = re.compile(r"Unsupported global: GLOBAL (\S+)")


def read_bytes(name: str, expected: str = "a .pt2 archive or IR text") -> bytes:
    """The content of a file, or of standard input for `-`.

    Args:
        name: of the file.
        expected: what should be in it, for the error.

    Raises:
        InputError: where it cannot be read or is empty.
    """
    if name == STANDARD:
        if sys.stdin is None:
            raise InputError(shown(name), found="closed", expected=expected, hint="name a file")
        data = sys.stdin.buffer.read()
    else:
        try:
            data = Path(name).read_bytes()
        except OSError as error:
            raise InputError(
                name,
                found=error.strerror or str(error),
                expected="a file that can be read",
                hint="look at the path",
            ) from error
    if not data:
        raise InputError(shown(name), found="no bytes", expected=expected)
    return data


def read_program(name: str) -> ExportedProgram | Graph:
    """An exported program from a .pt2 archive, or a graph from IR text; the content decides which it is.

    Raises:
        InputError: it is neither.
        ParseError: it is text, but not IR.
    """
    data = read_bytes(name)
    if data.startswith(_ZIP_START):
        return load_exported(data, shown(name))
    return parse_text(data, shown(name))


def parse_text(data: bytes, place: str) -> Graph:
    """A graph from IR text.

    Raises:
        InputError: the bytes are no text.
        ParseError: the text is no IR.
    """
    from dlrmc.ir.parser import parse_graph

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            place,
            found=f"bytes that start {data[:8]!r}",
            expected="what torch.export.save writes, or IR text",
            hint="save the model again: torch.export.save(torch.export.export(model, inputs), 'model.pt2')",
        ) from error
    return parse_graph(text, place)


def load_exported(data: bytes, place: str) -> ExportedProgram:
    """An exported program from the bytes of a .pt2 archive.

    Raises:
        InputError: it is no such archive, or one of a torch that this one cannot read.
    """
    import torch

    hint = "save the model again: torch.export.save(torch.export.export(model, inputs), 'model.pt2')"
    expected = "what torch.export.save writes"
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise InputError(place, found="a broken zip archive", expected=expected, hint=hint)
    try:
        with _without_log("torch.export"):
            return torch.export.load(io.BytesIO(data))
    except Exception as error:
        found = f"torch {torch.__version__} cannot load it ({first_line(error)})"
        if _is_of_torch_save(data):
            found = "what torch.save writes: weights or a module, and no exported program"
        raise InputError(place, found=found, expected=expected, hint=hint) from error


@contextlib.contextmanager
def _without_log(name: str) -> Iterator[None]:
    """A logger says nothing: torch logs the traceback of an error that it raises, too."""
    logger = logging.getLogger(name)
    was_disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was_disabled


def _is_of_torch_save(data: bytes) -> bool:
    names = [PurePosixPath(name).name for name in zipfile.ZipFile(io.BytesIO(data)).namelist()]
    return "data.pkl" in names and "archive_format" not in names


def load_inputs(name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of a call, from a file that `torch.save` wrote.

    The file holds a tuple or list of arguments, a dict of keyword arguments, or a pair (tuple, dict) of both.

    Raises:
        InputError: it is no such file, or it holds something else.
    """
    import torch

    place = shown(name)
    expected = "a tuple of arguments, a dict of keyword arguments, or a pair of both, saved with torch.save"
    try:
        data = read_bytes(name, expected)
        value = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except InputError:
        raise
    except Exception as error:
        foreign = _FOREIGN_CLASS.search(str(error))
        reason = f"it holds a {foreign[1]}" if foreign else first_line(error)
        raise InputError(
            place,
            found=f"torch.load cannot read it with weights_only=True ({reason})",
            expected=expected,
            hint="torch.save((dense, offsets, indices), 'inputs.pt')",
        ) from error
    if isinstance(value, dict):
        return (), value
    if not isinstance(value, (tuple, list)):
        raise InputError(place, found=f"a {type(value).__name__}", expected=expected)
    if len(value) == 2 and isinstance(value[0], tuple) and isinstance(value[1], dict):
        return value[0], value[1]
    return tuple(value), {}


def example_inputs(exported: ExportedProgram, place: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that the program was exported with.

    Raises:
        InputError: the archive does not hold them.
    """
    if exported.example_inputs is None:
        raise InputError(
            place,
            found="no example inputs in the archive",
            expected="the arguments of a call",
            hint="give them with --inputs INPUTS.pt",
        )
    return exported.example_inputs


def write_text(name: str, text: str) -> None:
    """Write to a file, or to standard output for `-`.

    Raises:
        InputError: where the file cannot be written.
    """
    if name == STANDARD:
        if sys.stdout is None:
            raise InputError("standard output", found="closed", expected="a place to write to")
        sys.stdout.write(_printable(text, sys.stdout.encoding))
        # Here and not at the interpreter's end, so that a reader who has gone away is seen.
        sys.stdout.flush()
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            name, found=error.strerror or str(error), expected="a file that can be written"
        ) from error


def _printable(text: str, encoding: str | None) -> str:
    """The text with escapes for what the encoding of a stream lacks."""
    return text.encode(encoding, "backslashreplace").decode(encoding) if encoding else text


def shown(name: str) -> str:
    """The name as an error shows it."""
    return "standard input" if name == STANDARD else name


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class where there is none."""
    lines = _COLOURS.sub("", str(error)).strip().splitlines()
    return lines[0] if lines else type(error).__name__
