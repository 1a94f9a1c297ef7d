"""All variants, in the order in which they are measured: dlrmc and what compiles fast first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlrmc.bench.variants import compiled, eager, inductor, xla
from dlrmc.bench.variants.runner import Runner
from dlrmc.bench.work import Work
from dlrmc.errors import OptionError


@dataclass(frozen=True)
class Variant:
    """One way to compute the scores.

    Args:
        name: in rows and options.
        title: in tables.
        prepare: compiles it.
        is_own: whether it is dlrmc's.
        is_general: whether it takes any exported program, not only the plain DLRM.
    """

    name: str
    title: str
    prepare: Callable[[Work], Runner]
    is_own: bool = False
    is_general: bool = True


VARIANTS: tuple[Variant, ...] = (
    Variant("dlrmc", "dlrmc, bound step", compiled.step, is_own=True),
    Variant("dlrmc_call", "dlrmc, same tensors", compiled.call, is_own=True),
    Variant("dlrmc_fresh", "dlrmc, fresh tensors", compiled.fresh_call, is_own=True),
    Variant("eager", "eager", eager.eager),
    Variant("eager_graph", "eager + CUDA graph", eager.eager_graph),
    Variant("xla", "XLA", xla.xla, is_general=False),
    Variant("reduce_overhead", "inductor reduce-overhead", inductor.reduce_overhead),
    Variant("stacked", "stacked by hand + inductor + CUDA graph", inductor.stacked, is_general=False),
    Variant("inductor", "inductor max-autotune + CUDA graph", inductor.inductor),
    Variant("aot", "AOTInductor", inductor.ahead_of_time),
)
OWN = tuple(variant for variant in VARIANTS if variant.is_own)
PEERS = tuple(variant for variant in VARIANTS if not variant.is_own)


def chosen_variants(peers: str) -> tuple[Variant, ...]:
    """The variants of dlrmc and the peers asked for, in the order of measurement.

    Args:
        peers: `all`, `none`, or names separated by commas; a name of dlrmc's leaves its others out.

    Raises:
        OptionError: there is no such variant.
    """
    names = [name.strip() for name in peers.split(",") if name.strip()]
    known = [variant.name for variant in VARIANTS]
    if names == ["all"]:
        return VARIANTS
    for name in names:
        if name not in (*known, "none"):
            raise OptionError("option --peers", found=name, expected="all, none, or of " + ", ".join(known))
    wanted_own = [variant.name for variant in OWN if variant.name in names]
    chosen = {*names, *(wanted_own or [variant.name for variant in OWN])}
    return tuple(variant for variant in VARIANTS if variant.name in chosen)


def title_of(name: str) -> str:
    """The title of a variant, or the name of one that is not known."""
    return next((variant.title for variant in VARIANTS if variant.name == name), name)
