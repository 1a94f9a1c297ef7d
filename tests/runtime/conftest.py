from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of built modules for the tests of a session."""
    return tmp_path_factory.mktemp("cache")
