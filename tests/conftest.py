"""What every test shares: the golden files, and a fixed cache folder that is not the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden.golden_files import FOLDER, GoldenFiles, GoldenMismatch

GOLDEN = pytest.StashKey[GoldenFiles]()
UNUSED = pytest.StashKey[tuple[str, ...]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files instead of comparing with them"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[GOLDEN] = GoldenFiles(FOLDER, update=config.getoption("--update-golden"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` fails unless tests/golden/<name> holds `text`."""
    files = request.config.stash[GOLDEN]

    def check(name: str, text: str) -> None:
        __tracebackhide__ = True
        try:
            files.check(name, text)
        except GoldenMismatch as mismatch:
            pytest.fail(str(mismatch), pytrace=False)

    return check


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compiled modules go to a folder of this run, never to the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLRMC_CACHE_DIR", str(folder))
        yield folder


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Collect from a pytest-xdist worker the golden names that it has used."""
    node.config.stash[GOLDEN].used.update(getattr(node, "workeroutput", {}).get("golden", ()))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a whole run that leaves a golden file unused, or delete that file in an update."""
    config = session.config
    files = config.stash[GOLDEN]
    if hasattr(config, "workeroutput"):
        config.workeroutput["golden"] = sorted(files.used)
        return
    if exitstatus != pytest.ExitCode.OK or not _is_whole_run(config):
        return
    unused = files.unused()
    if files.update:
        files.remove(unused)
    elif unused:
        config.stash[UNUSED] = unused
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    unused = config.stash.get(UNUSED, ())
    if not unused:
        return
    terminalreporter.section("golden files that no test uses", red=True)
    for name in unused:
        terminalreporter.line(f"tests/golden/{name}")
    terminalreporter.line("to mend: make golden")


def _is_whole_run(config: pytest.Config) -> bool:
    option = config.option
    narrowed = option.keyword or option.collectonly or getattr(option, "lf", False) or option.deselect
    return (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and option.markexpr == "not gpu"
        and not narrowed
    )
