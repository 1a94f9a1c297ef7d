import re
from importlib import resources

import pytest

from dlrmc.codegen import includes
from dlrmc.codegen.includes import include_text, read_include, required_by, resolve_includes
from dlrmc.errors import CodegenError

ALL = sorted(path.name for path in resources.files("dlrmc.codegen").joinpath("cuda").iterdir())


def test_what_a_file_requires_stands_before_it_and_once():
    assert resolve_includes(["scalars.cuh"]) == ("ptx.cuh", "scalars.cuh")
    assert resolve_includes(["ptx.cuh", "scalars.cuh", "scalars.cuh"]) == ("ptx.cuh", "scalars.cuh")


@pytest.mark.parametrize("name", ALL)
def test_every_file_names_all_that_it_includes(name):
    quoted = re.findall(r'#include "(.*)"', read_include(name))
    assert quoted == [n for n in quoted if n in resolve_includes([name])]


def test_the_text_includes_nothing():
    text = include_text(ALL)
    assert not re.search(r"^\s*#\s*include", text, re.MULTILINE)
    assert text.count("struct Faults {") == 1
    assert text.index("f16_to_f32") < text.index("struct f16 {") < text.index("from_float<T>(v)")


def test_a_missing_file_is_named():
    with pytest.raises(CodegenError, match=r"include 'nothing.cuh': no such file"):
        resolve_includes(["nothing.cuh"])


def test_a_cycle_is_named(monkeypatch):
    texts = {
        "a.cuh": "// requires: b.cuh\n",
        "b.cuh": "//\n// requires: c.cuh\n// requires: a.cuh\n",
        "c.cuh": "",
    }
    monkeypatch.setattr(includes, "read_include", texts.__getitem__)
    assert required_by("b.cuh") == ("c.cuh", "a.cuh")
    with pytest.raises(CodegenError, match=r"a\.cuh -> b\.cuh -> a\.cuh"):
        resolve_includes(["a.cuh"])
