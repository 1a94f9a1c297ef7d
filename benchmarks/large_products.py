"""Large linear layers on a GPU: time and error of every tile, beside eager PyTorch in a CUDA graph.

    python benchmarks/large_products.py                          # the layers of large recommenders
    python benchmarks/large_products.py --tiles --shape 2048x1024x1024 --precision fp32,tf32

Each line is one layer with bias and ReLU: microseconds a call, back to back, and the largest error against
float64, relative to the largest result. K written as 128+351 is an input in two parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from unittest import mock

import torch
from torch import nn

from dlrmc.bench.timing import CudaTimer, measure
from dlrmc.codegen.kernels import linear
from dlrmc.codegen.kernels.linear_tile import TENSOR_TILES, WARPGROUP_TILES, TensorProductTile, WarpgroupTile
from dlrmc.compile import build
from dlrmc.options import Options
from dlrmc.runtime.compiled import Compiled

SHAPES = (
    "2048x1024x128+351",
    "2048x1024x1024",
    "2048x512x1024",
    "2048x512x512",
    "2048x256x512",
    "2048x512x3456",
    "2048x3456x512",
    "128x1024x128+351",
    "128x1024x1024",
    "128x512x1024",
)


class Layer(nn.Module):
    """relu(linear(cat(parts)))."""

    def __init__(self, columns: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, columns)

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        return torch.relu(self.linear(torch.cat(parts, dim=1)))


def main() -> None:
    """Print a line for each shape, precision and tile."""
    arguments = parse_arguments()
    device = torch.device("cuda", torch.cuda.current_device())
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"{'rows x N x K':>20} {'precision':>9} {'tile':>28} {'us':>8} {'error':>9}")
    for shape in arguments.shape or SHAPES:
        rows, columns, widths = read_shape(shape)
        torch.manual_seed(0)
        layer = Layer(columns, sum(widths)).to(device).eval()
        parts = [torch.randn(rows, width, device=device) for width in widths]
        for precision in arguments.precision.split(","):
            lines = [("eager", eager_step(layer, parts, precision))]
            lines += [(str(name), step) for name, step in our_steps(layer, parts, precision, arguments.tiles)]
            for name, step in lines:
                time_us = measure(step, CudaTimer(device)).wall_us
                error = error_of(step(), layer, parts)
                print(f"{shape:>20} {precision:>9} {name:>28} {time_us:8.1f} {error:9.1e}", flush=True)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--shape", action="append", help="rows x N x K, as 2048x1024x128+351; may be repeated"
    )
    parser.add_argument("--precision", default="fp32,tf32", help="fp32, tf32, bf16, with commas")
    parser.add_argument(
        "--tiles", action="store_true", help="every tensor-core tile, not only the chosen one"
    )
    return parser.parse_args()


def read_shape(text: str) -> tuple[int, int, list[int]]:
    """Rows, columns and the widths of the parts."""
    rows, columns, widths = text.split("x")
    return int(rows), int(columns), [int(width) for width in widths.split("+")]


def our_steps(
    layer: Layer, parts: list[torch.Tensor], precision: str, is_every_tile: bool
) -> Iterator[tuple[str, Callable[[], torch.Tensor]]]:
    """The layer as compiled, with the chosen tile first."""
    program = torch.export.export(layer, (parts,))
    tiles: list[TensorProductTile | WarpgroupTile | None] = [None]
    tiles += [*WARPGROUP_TILES, *TENSOR_TILES] if is_every_tile else []
    for tile in tiles:
        patch = mock.patch.object(linear, "choose_tile", return_value=tile) if tile else nullcontext()
        with patch:
            compiled = Compiled(build(program, Options.of(target="cuda", precision=precision)))
        yield _tile_name(tile), compiled.bind(parts)


def _tile_name(tile: TensorProductTile | WarpgroupTile | None) -> str:
    if tile is None:
        return "chosen"
    return f"{type(tile).__name__} {tile.rows}x{tile.columns}, {tile.threads} threads"


def eager_step(layer: Layer, parts: list[torch.Tensor], precision: str) -> Callable[[], torch.Tensor]:
    """Eager PyTorch, captured in a CUDA graph; bf16 stands beside TF32."""
    torch.set_float32_matmul_precision("highest" if precision == "fp32" else "high")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        for _ in range(3):
            layer(parts)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            result = layer(parts)

    def step() -> torch.Tensor:
        graph.replay()
        return result

    return step


@torch.no_grad()
def error_of(result: torch.Tensor, layer: Layer, parts: list[torch.Tensor]) -> float:
    """The largest error, relative to the largest result in float64."""
    weight, bias = layer.linear.weight.double(), layer.linear.bias.double()
    exact = torch.relu(torch.cat(parts, dim=1).double() @ weight.T + bias)
    return float((result.double() - exact).abs().max() / exact.abs().max())


if __name__ == "__main__":
    main()
