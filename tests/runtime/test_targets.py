import logging

import pytest
import torch

from dlrmc.errors import CompileError, OptionError
from dlrmc.options import Options
from dlrmc.runtime import targets
from dlrmc.runtime.targets import architecture_number, choose_target


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def hide_compiler(monkeypatch):
    def refuse():
        raise CompileError("the emulator", found="no C++ compiler")

    monkeypatch.setattr(targets, "find_compiler", refuse)


def test_without_a_gpu_the_emulator_is_chosen_and_the_choice_is_one_line(caplog):
    with caplog.at_level(logging.INFO, logger="dlrmc"):
        target = choose_target(Options(), {})
    assert (target.name, str(target.device), target.architecture) == ("emulate", "cpu", "sm_90")
    assert "torch sees no GPU" in target.reason
    (record,) = caplog.records
    assert record.getMessage().startswith("target emulate on cpu for sm_90: torch sees no GPU; ")


def test_without_a_compiler_the_reference_is_chosen(monkeypatch, caplog):
    hide_compiler(monkeypatch)
    with caplog.at_level(logging.INFO, logger="dlrmc"):
        target = choose_target(Options(), {})
    assert target.name == "reference"
    assert "no C++ compiler was found" in caplog.text


def test_what_is_asked_for_and_missing_is_an_error(monkeypatch):
    with pytest.raises(OptionError, match="sees no GPU"):
        choose_target(Options(target="cuda"), {})
    hide_compiler(monkeypatch)
    with pytest.raises(CompileError, match="no C\\+\\+ compiler"):
        choose_target(Options(target="emulate"), {})
    assert choose_target(Options(target="reference"), {}).name == "reference"


def test_the_architecture_sets_the_limits():
    target = choose_target(Options(target="reference", architecture="sm_100a"), {})
    assert (target.architecture, target.limits.architecture) == ("sm_100a", 100)


@pytest.mark.parametrize(("architecture", "kilobytes"), [("sm_80", 163), ("sm_86", 99), ("sm_90a", 227)])
def test_a_gpu_that_is_not_here_has_the_shared_memory_of_its_architecture(architecture, kilobytes):
    target = choose_target(Options(target="reference", architecture=architecture), {})
    assert target.limits.shared_bytes_per_block == kilobytes << 10


def test_an_architecture_whose_limits_are_not_known_is_refused():
    with pytest.raises(OptionError, match=r"sm_35(?s:.)*sm_90"):
        choose_target(Options(target="reference", architecture="sm_35"), {})


def test_a_gpu_that_cannot_be_compiled_for_is_said_so(monkeypatch, caplog):
    def refuse(*arguments):
        raise CompileError("NVRTC", found="cupy cannot be imported", hint='pip install "cupy-cuda13x>=14"')

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(targets, "_cuda", refuse)
    with caplog.at_level(logging.INFO, logger="dlrmc"):
        assert choose_target(Options(), {}).name == "emulate"
    warning, _ = caplog.records
    assert warning.levelno == logging.WARNING
    assert 'pip install "cupy-cuda13x>=14"' in warning.getMessage()
    with pytest.raises(CompileError):
        choose_target(Options(strict=True), {})


def test_architecture_numbers():
    assert [architecture_number(name) for name in ("sm_80", "sm_90a", "sm_100f")] == [80, 90, 100]
    with pytest.raises(OptionError):
        architecture_number("compute_90")
