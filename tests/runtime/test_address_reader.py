"""The two readers of addresses give the same words, and neither hides an error."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import torch

from dlrmc.emulator import compiler as host_compiler
from dlrmc.errors import CompileError
from dlrmc.runtime import address_reader, torch_internals
from dlrmc.runtime.address_reader import FEWEST_TENSORS, AddressReader, make_address_reader

COUNT = FEWEST_TENSORS + 3


@pytest.fixture(params=["compiled", "Python"])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> AddressReader:
    return make_address_reader(COUNT, tmp_path if request.param == "compiled" else None)


@pytest.fixture
def no_loop_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of compilers and libraries from other tests, nor left to them."""
    monkeypatch.setattr(address_reader, "_compiled_loop", address_reader._compiled_loop.__wrapped__)


def some_tensors() -> tuple[torch.Tensor, ...]:
    first = torch.zeros(40)
    special = (first[1:], torch.nn.Parameter(torch.ones(2)), torch.empty(0), first, first)
    return (*special, *(torch.arange(n) for n in range(1, COUNT - 4)))


def words_of(tensors: tuple[torch.Tensor, ...]) -> bytes:
    return struct.pack(f"={COUNT}Q", *(tensor.data_ptr() for tensor in tensors))


def test_words_are_the_addresses(read: AddressReader) -> None:
    tensors = some_tensors()
    assert len(tensors) == COUNT
    assert read(tensors) == words_of(tensors)


def test_each_call_reads_anew(read: AddressReader) -> None:
    tensors = some_tensors()
    before = read(tensors)
    other = torch.arange(7)
    tensors[-1].set_(other)
    tensors[0].data = torch.zeros(5)
    assert before != read(tensors) == words_of(tensors)


def test_an_object_without_an_address_is_refused_by_torch(read: AddressReader) -> None:
    with pytest.raises((TypeError, RuntimeError)):
        read((*some_tensors()[1:], "no tensor"))  # type: ignore[arg-type]
    sparse = torch.eye(3).to_sparse()
    with pytest.raises((TypeError, RuntimeError, NotImplementedError)):
        read((sparse, *some_tensors()[1:]))
    assert read(tensors := some_tensors()) == words_of(tensors)


def test_fewer_tensors_than_promised_are_an_error(read: AddressReader) -> None:
    with pytest.raises((IndexError, struct.error)):
        read(some_tensors()[1:])


def test_the_loop_is_compiled_once(tmp_path: Path, no_loop_yet: None) -> None:
    make_address_reader(COUNT, tmp_path)
    made = sorted(path.name for path in (tmp_path / "host").glob("*.so"))
    assert len(made) == 1
    make_address_reader(COUNT, tmp_path)
    assert made == sorted(path.name for path in (tmp_path / "host").glob("*.so"))


def test_few_tensors_need_no_library(tmp_path: Path, no_loop_yet: None) -> None:
    make_address_reader(FEWEST_TENSORS - 1, tmp_path)
    assert not (tmp_path / "host").exists()


@pytest.mark.parametrize("lacking", ["a compiler", "a folder", "torch's function"])
def test_without_a_way_python_reads(
    lacking: str, tmp_path: Path, no_loop_yet: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    if lacking == "a compiler":

        def find_none() -> host_compiler.Compiler:
            raise CompileError("no compiler", found="none")

        monkeypatch.setattr(address_reader, "find_compiler", find_none)
    elif lacking == "a folder":
        folder.write_text("a file")
    else:
        monkeypatch.delattr(torch._C._dynamo.guards, "_torchinductor_pyobject_tensor_data_ptr")
        assert torch_internals.data_ptr_function() is None
    tensors = some_tensors()
    assert make_address_reader(COUNT, folder)(tensors) == words_of(tensors)
