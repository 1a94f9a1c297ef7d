from __future__ import annotations

from pathlib import Path

import pytest

from dlrmc.errors import OptionError
from dlrmc.options import Options, default_cache_dir


def test_arguments_win_over_the_environment_and_that_over_the_defaults() -> None:
    environment = {"DLRMC_TARGET": "reference", "DLRMC_BOUNDS": "raise", "PATH": "/bin"}
    options = Options.of(environment=environment, target="emulate", precision=None)
    assert (options.target, options.bounds, options.precision) == ("emulate", "raise", "fp32")


def test_every_variable_is_read() -> None:
    options = Options.from_environment(
        {
            "DLRMC_TARGET": "cuda",
            "DLRMC_PRECISION": "tf32",
            "DLRMC_BOUNDS": "ignore",
            "DLRMC_TUNE": "fast",
            "DLRMC_BATCH_SIZES": "1, 8,64",
            "DLRMC_CACHE_DIR": "somewhere",
            "DLRMC_STRICT": "Yes",
            "DLRMC_ARCHITECTURE": "sm_100",
        }
    )
    assert options == Options("cuda", "tf32", "ignore", "fast", (1, 8, 64), Path("somewhere"), True, "sm_100")


def test_an_empty_variable_counts_as_unset() -> None:
    assert Options.from_environment({"DLRMC_TARGET": " "}).target == "auto"


def test_a_list_and_a_text_become_a_tuple_and_a_path() -> None:
    options = Options(batch_sizes=[1, 2], cache_dir="~/kernels")  # type: ignore[arg-type]
    assert options.batch_sizes == (1, 2)
    assert options.cache_dir == Path.home() / "kernels"
    assert hash(options) == hash(options.replace())


def test_replace_changes_one_and_refuses_unknown_names() -> None:
    assert Options().replace(tune="full").tune == "full"
    with pytest.raises(OptionError, match="did you mean tune"):
        Options().replace(tun="full")


def test_the_default_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "dlrmc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_dir() == Path.home() / ".cache" / "dlrmc"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"targt": "cuda"}, "option targt: there is no such option"),
        ({"targt": "cuda"}, "to mend: did you mean target?"),
        ({"target": "emulated"}, "to mend: did you mean target='emulate'?"),
        ({"target": "tpu"}, "expected: one of auto, cuda, emulate, reference"),
        ({"precision": "fp16"}, "option precision: 'fp16'"),
        ({"bounds": True}, "option bounds: True"),
        ({"tune": "most"}, "expected: one of off, fast, full"),
        ({"batch_sizes": (0,)}, "expected: a list of whole numbers above zero"),
        ({"batch_sizes": 8}, "option batch_sizes: 8"),
        ({"batch_sizes": (True,)}, "option batch_sizes: (True,)"),
        ({"strict": "no"}, "expected: True or False"),
        ({"cache_dir": 3}, "expected: the path of a folder"),
        ({"architecture": "hopper"}, "expected: a name such as sm_80"),
    ],
)
def test_a_bad_argument_says_what_to_do(given: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Options.of(environment={}, **given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("DLRMC_TARGTE", "cuda", "to mend: did you mean DLRMC_TARGET?"),
        ("DLRMC_STRICT", "maybe", "environment variable DLRMC_STRICT: 'maybe'"),
        ("DLRMC_BATCH_SIZES", "1;2", "expected: whole numbers separated by commas"),
        ("DLRMC_TUNE", "slow", "option tune: 'slow'"),
    ],
)
def test_a_bad_variable_says_what_to_do(variable: str, text: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        Options.of(environment={variable: text})
    assert message in str(caught.value)
