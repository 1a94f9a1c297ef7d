"""The lookup program on the GPU, with a cache of each file's own."""

import pytest

from tests.runtime.programs import TABLE, compile_lookup


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def lookup(cache_dir):
    return compile_lookup(cache_dir, target="cuda", table=TABLE.cuda())
