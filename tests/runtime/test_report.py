import pytest
import torch

from dlrmc import __version__
from dlrmc.errors import CompileError
from dlrmc.runtime import nvrtc
from tests.runtime.programs import DENSE, IDS, compile_lookup, compile_program, make_program


@pytest.fixture(params=["emulate", "reference"])
def lookup(request, cache_dir):
    return compile_lookup(cache_dir, target=request.param)


def test_the_report_says_what_was_compiled(lookup):
    lookup(DENSE, IDS)
    report = lookup.report()
    for text in (
        f"dlrmc {__version__}: @lookup",
        f"target     {lookup.target.name} on cpu",
        "precision  fp32",
        "bounds     deferred",
        "before     3 ops: 1 embedding, 1 add, 1 mul",
        "after      2 ops: 2 kernel",
        "arena of 0 bytes; on the device between calls: 1 weight",
        f"kernels for sm_90, {nvrtc.find_toolchain().name}",
        "grid x block",
        "dense is [4,3], ids is [4]",
        "export again",
        "counters: calls 1, faults 0",
    ):
        assert text in report
    for kernel in ("dlrmc_embedding_1", "dlrmc_add_mul_1"):
        (row,) = [line for line in report.splitlines() if line.split()[:1] == [kernel]]
        _, grid, times, block, registers, shared, spilled, constant = row.split()
        assert (grid, times, block, shared, spilled) == ("1", "x", "32", "0", "0")
        assert int(registers) > 4
        assert int(constant) >= 24
    assert "graph @lookup" not in report


def test_the_ir_before_and_after_is_printed_when_asked_for(lookup):
    before, after = lookup.report(ir=True).split("IR before the passes")[1].split("IR after the passes")
    assert "%out = mul(%sum, %two) : f32[4,3]" in before
    assert "kernel" not in before
    assert "%out = kernel map(" in after


LAYERS = """graph @layers {
  input %x : f32[512,512]
  weight %w : f32[512,512] = "w"
  %first = linear(%x, %w) : f32[512,512]
  %second = neg(%first) : f32[512,512]
  return %second
}
"""


@pytest.mark.parametrize(
    ("precision", "products"),
    [("fp32", "three TF32 products"), ("tf32", "one TF32 product"), ("bf16", "one bf16 product")],
)
def test_the_report_says_by_what_tensor_cores_multiply(cache_dir, precision, products):
    program = make_program(LAYERS, {"w": torch.zeros(512, 512)}, ("x",), {}, (0,))
    report = compile_program(program, cache_dir, target="reference", precision=precision).report()
    assert f"precision  {precision}: on tensor cores by {products} in 1 of 1 kernels" in report


def test_without_nvrtc_the_report_says_so(lookup, monkeypatch):
    def refuse():
        raise CompileError("NVRTC", found="cupy cannot be imported", hint="pip install it")

    monkeypatch.setattr(nvrtc, "find_toolchain", refuse)
    report = lookup.report()
    assert "registers are not known (NVRTC: cupy cannot be imported; to mend: pip install it)" in report
    assert "dlrmc_embedding_1" in report


def test_the_second_report_compiles_nothing(lookup):
    lookup.report()
    compiles = lookup.stats()["compiles"]
    lookup.report()
    assert lookup.stats()["compiles"] == compiles


def test_stats_count_calls_and_memory(lookup):
    lookup(DENSE, IDS)
    lookup(DENSE, IDS)
    stats = lookup.stats()
    assert (stats["calls"], stats["faults"], stats["arena_bytes"]) == (2, 0, 0)
    assert stats["without_graph"] == 2  # no CUDA graphs on this target
    assert list(stats)[3:6] == ["compiles", "memory_hits", "disk_hits"]


def test_the_source_and_the_graph_are_at_hand(lookup):
    assert "dlrmc_embedding_1" in lookup.cuda_source
    assert [node.op.name for node in lookup.graph.outputs] == ["kernel", "kernel"]
    assert repr(lookup) == f"<compiled lookup: 2 kernels, target {lookup.target.name}>"
