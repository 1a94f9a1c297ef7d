"""One translation unit for all kernels of a plan."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dlrmc.codegen.includes import include_text
from dlrmc.codegen.kernels.registry import find_kernel_impl
from dlrmc.codegen.source import KernelContext, KernelSource, ModuleSource
from dlrmc.errors import CodegenError
from dlrmc.ir.graph import LEAVES, Graph, Node
from dlrmc.ir.printer import print_graph
from dlrmc.ir.strided import VIEW_OPS, input_window
from dlrmc.passes.form_kernels import POINTERS_MAX
from dlrmc.passes.round_factors import is_rounded
from dlrmc.schedule.limits import DeviceLimits
from dlrmc.schedule.plan import BufferRef, Launch, Plan

PREFIX = "dlrmc"
# A name holds the ops of the body, in order, up to this many characters.
LONGEST_STEM = 48
# The widest load or store of one thread; the runtime keeps every buffer, the user's tensors too, to it.
BASE_ALIGNMENT_BYTES = 16
CHAIN_INCLUDE = "kernel_chain.cuh"


def emit_module(
    plan: Plan, limits: DeviceLimits, graph: Graph | None = None, precision: str = "fp32"
) -> ModuleSource:
    """The CUDA source of all launches of a plan.

    Args:
        plan: the launches. None of them has only empty results: build_plan leaves those out.
        limits: the device's limits.
        graph: the program, to be printed at the head of the text.
        precision: of products on tensor cores: "fp32", "tf32" or "bf16".

    Returns:
        The source; its kernels stand in the order of the plan's launches, one for each.

    Raises:
        CodegenError: where an implementation is unknown or refuses a body.
    """
    kernels: list[KernelSource] = []
    first_site = 0
    is_chained = len(plan.launches) > 1
    for launch, name in zip(plan.launches, kernel_names(plan.launches), strict=True):
        kernel = emit_kernel(launch, name, first_site, limits, precision, is_chained=is_chained)
        first_site += len(kernel.sites)
        kernels.append(kernel)
    return ModuleSource(module_text(kernels, _banner(plan, kernels, graph)), tuple(kernels))


def emit_kernel(
    launch: Launch,
    name: str,
    first_site: int,
    limits: DeviceLimits,
    precision: str = "fp32",
    *,
    is_chained: bool = False,
) -> KernelSource:
    """The CUDA source of one launch, under a name that is unique in its module."""
    windows = [input_window(operand) for operand in launch.kernel.inputs]
    context = KernelContext(
        name=name,
        operand_strides=launch.operand_strides,
        result_strides=launch.result_strides,
        indirect_operands=tuple(is_indirect(buffer) for buffer in launch.operands),
        indirect_results=tuple(is_indirect(buffer) for buffer in launch.results),
        operand_names=tuple(
            operand.name if window is None else window.root.name
            for operand, window in zip(launch.kernel.inputs, windows, strict=True)
        ),
        first_site=first_site,
        limits=limits,
        operand_alignments=tuple(alignment_bytes(buffer) for buffer in launch.operands),
        result_alignments=tuple(alignment_bytes(buffer) for buffer in launch.results),
        precision=precision,
        counted_operands=tuple(buffer.has_count for buffer in launch.operands),
        is_chained=is_chained,
        operand_firsts=tuple(0 if window is None else window.offset for window in windows),
        tf32_operands=tuple(is_rounded(operand) for operand in launch.kernel.inputs),
    )
    source = find_kernel_impl(launch.kernel.attributes.str("impl")).emit(launch.kernel, context)
    if len(source.params) > POINTERS_MAX:
        raise CodegenError(
            f"kernel {name}",
            found=f"{len(source.params)} pointers",
            expected=f"at most {POINTERS_MAX}, the size of a kernel's parameter space",
            hint="split its body into several kernels",
        )
    if not is_chained:
        return source
    return replace(source, includes=(*source.includes, CHAIN_INCLUDE), is_chained=True)


def tf32_factors(plan: Plan, module: ModuleSource) -> dict[Node, tuple[int, ...]]:
    """For each kernel that has them, the places of operands that are factors of TF32 products only."""
    pairs = zip(plan.launches, module.kernels, strict=True)
    return {launch.kernel: source.tf32_factors for launch, source in pairs if source.tf32_factors}


def is_indirect(buffer: BufferRef) -> bool:
    """Whether the buffer may change from call to call, so that kernels find it through a slot."""
    return buffer.kind in ("input", "output")


def alignment_bytes(buffer: BufferRef) -> int:
    """Bytes of which the data's address is a multiple; every buffer starts at a multiple of the largest."""
    return math.gcd(buffer.offset_bytes, BASE_ALIGNMENT_BYTES)


def module_text(kernels: Sequence[KernelSource], banner: str) -> str:
    """The banner, the device code that the kernels include, each file once, and the kernels."""
    includes = include_text(name for kernel in kernels for name in kernel.includes)
    parts = (banner, includes, *(kernel.text for kernel in kernels))
    return "\n\n".join(part for part in parts if part) + "\n"


def kernel_names(launches: Sequence[Launch]) -> tuple[str, ...]:
    """A unique name for each launch, made of what its kernel computes: `dlrmc_linear_relu_1`."""
    counts: dict[str, int] = {}
    names: list[str] = []
    for launch in launches:
        stem = f"{PREFIX}_{'_'.join(_shortened(_computed(launch.kernel.body)))}"
        counts[stem] = counts.get(stem, 0) + 1
        names.append(f"{stem}_{counts[stem]}")
    return tuple(names)


def _computed(body: Graph) -> list[str]:
    """The ops of a body in order, activations of an epilogue too; `copy` where there are only views."""
    words: list[str] = []
    for node in body.nodes:
        if not node.is_op(*LEAVES, *VIEW_OPS):
            words.extend(_words(node))
    return words or ["copy"]


def _words(node: Node) -> Iterator[str]:
    yield re.sub(r"_(group)$", "s", node.op.name)
    if "act" in node.attributes and node.attributes.str("act") != "none":
        yield node.attributes.str("act")


def _shortened(words: list[str]) -> list[str]:
    """The words that fit into the length of a name."""
    kept: list[str] = []
    for word in words:
        if kept and len("_".join((*kept, word))) > LONGEST_STEM:
            break
        kept.append(word)
    return kept


def _banner(plan: Plan, kernels: Sequence[KernelSource], graph: Graph | None) -> str:
    """What the text is, what it takes and gives, and its kernels in order of launch."""
    lines = [f"Emitted by {PREFIX}: {len(kernels)} kernel{'' if len(kernels) == 1 else 's'} for one request."]
    lines.extend(f"input {slot.name} : {slot.type}" for slot in plan.inputs)
    lines.extend(f"output {slot.name} : {slot.type}" for slot in plan.outputs)
    lines.extend(
        f"{kernel.name}<<<{kernel.grid}, {kernel.block}, {kernel.shared_bytes}>>>" for kernel in kernels
    )
    if graph is not None:
        lines.extend(["", *print_graph(graph).splitlines()])
    return "\n".join(f"// {line}".rstrip() for line in lines)
