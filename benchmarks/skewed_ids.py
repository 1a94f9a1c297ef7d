"""Long bags of one large table: uniform ids against skewed ones, and the price of the bounds checks.

    python benchmarks/skewed_ids.py

A table of 5 000 000 x 128 float32 (2.4 GiB) and 2048 bags of 100 to 200 ids: (a) uniform ids, (b) one id in
90 % of the places. Each is timed by the protocol of `dlrmc bench` with the checks of ids and, patched out of
the source for this purpose, without them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest import mock

import torch
from torch import nn

import dlrmc
from dlrmc.bench.machine import describe_machine, find_gpu
from dlrmc.bench.timing import CudaTimer, measure
from dlrmc.codegen import includes

CHECK = "return static_cast<unsigned long long>(number) < static_cast<unsigned long long>(limit);"


class Bags(nn.Module):
    """The bags of one table."""

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(rows, dim, mode="sum")

    def forward(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.table(ids, offsets)


def main() -> None:
    """Print a line for each way to compute the bags and each kind of ids."""
    given = parse_arguments()
    device = find_gpu()
    machine = describe_machine(device)
    print(f"{machine.gpu}, driver {machine.driver}, torch {machine.torch}, cupy {machine.cupy}")
    with torch.no_grad(), device:
        torch.manual_seed(0)
        model = Bags(given.rows, given.dim).eval()
        offsets, requests = make_requests(given)
        count = int(offsets[-1])
        offsets = offsets[:-1].contiguous()
        gathered_mb = count * given.dim * 4 / 1e6
        print(f"{given.rows} x {given.dim}, {given.bags} bags, {count} ids, {gathered_mb:.0f} MB of rows")
        print(f"{'checks':>7} {'ids':>8} {'event us':>9} {'wall us':>9} {'error':>9}")
        for is_checked in (True, False):
            for name, ids in requests.items():
                title = f"{'yes' if is_checked else 'no':>7} {name:>8}"
                measure_one(model, (ids, offsets), title, is_checked=is_checked)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--bags", type=int, default=2048)
    return parser.parse_args()


def make_requests(given: argparse.Namespace) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Offsets with the end of the last bag, and ids of both kinds."""
    lengths = torch.randint(100, 201, (given.bags,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    uniform = torch.randint(given.rows, (int(offsets[-1]),))
    is_hot = torch.rand(uniform.shape) < 0.9
    return offsets, {"uniform": uniform, "skewed": torch.where(is_hot, given.rows // 3, uniform)}


def measure_one(
    model: Bags, args: tuple[torch.Tensor, torch.Tensor], title: str, *, is_checked: bool
) -> None:
    """Compile, check against eager, time, print."""
    with nullcontext() if is_checked else trusting_ids():
        step = dlrmc.compile(torch.export.export(model, args), target="cuda").bind(*args)
    error = float((step() - model(*args)).abs().max())
    times = measure(step, CudaTimer(args[0].device))
    print(f"{title} {times.event_us:9.1f} {times.wall_us:9.1f} {error:9.1e}", flush=True)


@contextmanager
def trusting_ids() -> Iterator[None]:
    """A source that checks no ids, for a measurement only."""
    read = includes.read_include
    if CHECK not in read("bag_checks.cuh"):
        raise RuntimeError(f"bag_checks.cuh has no {CHECK!r} to take out")

    def unchecked(name: str) -> str:
        return read(name).replace(CHECK, "return true;")

    with mock.patch.object(includes, "read_include", unchecked):
        yield


if __name__ == "__main__":
    main()
