"""Many calls with changing inputs, batches and streams: every answer right, and memory flat.

    python -m benchmarks.soak                                  # 100,000 calls on a GPU of its own
    python -m benchmarks.soak --seconds 40                     # as many as fit
    python -m benchmarks.soak --target emulate --calls 500     # the same without a GPU

A call takes a request at random from a pool: another batch, other numbers of ids, other values. Its tensors
are at random the pool's own, fresh ones at new addresses, or ones that stay in place and are written before
the call; results are at random fresh ones or the caller's own (`out=`), some kept for a while; each call is
on one of several streams. Every answer is compared with what eager PyTorch gave for the same values. Memory
is taken down at equal steps, and judged by `benchmarks/memory.py`.

The exit status is 1 where an answer was wrong or memory grew.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.export import Dim

import dlrmc
from benchmarks.memory import Memory, growth, leaks, read_memory
from dlrmc.runtime.compiled import Compiled

TABLES, ROWS, WIDTH = 3, 1000, 8
BATCHES = (1, 2, 5, 16, 33)
LONGEST_BAG = 6
POOL = 12  # requests of each batch
KEPT = 16  # earlier results that are compared late
STREAMS = 3
STEPS = 20
# Relative and absolute: sums of other orders.
TOLERANCE = (1e-4, 1e-5)


class Recommender(nn.Module):
    """A dense layer beside bags of any length, and a layer on both."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.bags = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum") for _ in range(TABLES))
        self.bottom = nn.Linear(3, WIDTH)
        self.top = nn.Linear(WIDTH * (TABLES + 1), 1)

    def forward(
        self, dense: torch.Tensor, ids: list[torch.Tensor], offsets: list[torch.Tensor]
    ) -> torch.Tensor:
        parts = [torch.relu(self.bottom(dense))]
        parts += [bag(i, o) for bag, i, o in zip(self.bags, ids, offsets, strict=True)]
        return torch.sigmoid(self.top(torch.cat(parts, dim=1)))


@dataclass(frozen=True)
class Request:
    """Arguments of one call, and what eager PyTorch gives for them."""

    args: tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]
    expected: torch.Tensor

    def fresh(self) -> Request:
        """The same values at new addresses."""
        dense, ids, offsets = self.args
        return Request((dense.clone(), [*map(torch.clone, ids)], [*map(torch.clone, offsets)]), self.expected)

    def with_room(self, batch: int) -> Request:
        """The same values at new addresses, where the ids of any request of the batch have room."""
        request = self.fresh()
        for ids, own in zip(request.args[1], self.args[1], strict=True):
            ids.resize_(LONGEST_BAG * batch).resize_(own.shape).copy_(own)
        return request

    def written_into(self, place: Request) -> Request:
        """The same values, written into the tensors of another request of these sizes."""
        dense, ids, offsets = place.args
        dense.copy_(self.args[0])
        for target, source in zip([*ids, *offsets], [*self.args[1], *self.args[2]], strict=True):
            target.resize_(source.shape).copy_(source)
        return Request(place.args, self.expected)


def make_args(batch: int, seed: int, device: str) -> tuple[Any, Any, Any]:
    """Bags of 0 to LONGEST_BAG ids, another number for each table."""
    generator = torch.Generator().manual_seed(seed)
    ids, offsets = [], []
    for _ in range(TABLES):
        lengths = torch.randint(LONGEST_BAG + 1, (batch,), generator=generator)
        offsets.append((torch.cumsum(lengths, 0) - lengths).to(device))
        ids.append(torch.randint(ROWS, (int(lengths.sum()),), generator=generator).to(device))
    return torch.randn(batch, 3, generator=generator).to(device), ids, offsets


def compile_model(model: nn.Module, device: str, target: str, cache_dir: Path | None) -> Compiled:
    """The model with a dynamic batch and any numbers of ids."""
    batch = Dim("batch", min=1, max=max(BATCHES))
    most = LONGEST_BAG * max(BATCHES)
    ids = [{0: Dim(f"ids{number}", min=0, max=most)} for number in range(TABLES)]
    shapes = ({0: batch}, ids, [{0: batch}] * TABLES)
    exported = torch.export.export(model, make_args(4, 0, device), dynamic_shapes=shapes)
    options: dict[str, Any] = {"target": target, "batch_sizes": BATCHES}
    return dlrmc.compile(exported, **options, **({"cache_dir": cache_dir} if cache_dir else {}))


class Answers:
    """Compares answers where they are, without a wait for each."""

    def __init__(self, device: str) -> None:
        self._wrong = torch.zeros((), dtype=torch.int64, device=device)
        self.compared = 0

    def compare(self, found: torch.Tensor, expected: torch.Tensor) -> None:
        """Count an answer that is not eager's."""
        self._wrong += ~torch.isclose(found, expected, *TOLERANCE).all()
        self.compared += 1

    @property
    def wrong(self) -> int:
        """How many were not eager's; waits."""
        return int(self._wrong)


class Lane:
    """One stream of calls: tensors of its own that are written in place, and results that wait.

    Args:
        pool: requests by batch.
        stream: on which everything runs; None for the CPU.
        device: of all tensors.
    """

    def __init__(self, pool: dict[int, list[Request]], stream: Any, device: str) -> None:
        self._pool = pool
        self._context: Callable[[], Any] = (lambda: torch.cuda.stream(stream)) if stream else nullcontext
        with self._context():
            self._places = {batch: requests[0].with_room(batch) for batch, requests in pool.items()}
            self._out = {batch: torch.empty(batch, 1, device=device) for batch in pool}
            self.answers = Answers(device)
        self._kept: deque[tuple[torch.Tensor, torch.Tensor]] = deque()

    def call(self, compiled: Compiled, chance: random.Random) -> None:
        """One call of a request at random."""
        batch = chance.choice(BATCHES)
        request, way = chance.choice(self._pool[batch]), chance.randrange(4)
        with self._context():
            if way == 0:
                request = request.fresh()
            elif way == 1:
                request = request.written_into(self._places[batch])
            if chance.randrange(4) == 0:
                found = compiled(*request.args, out=self._out[batch])
                self.answers.compare(found, request.expected)
                return
            self._kept.append((compiled(*request.args), request.expected))
            if len(self._kept) > KEPT:
                self.answers.compare(*self._kept.popleft())

    def finish(self) -> None:
        """Compare the results that wait."""
        with self._context():
            while self._kept:
                self.answers.compare(*self._kept.popleft())


def soak(
    calls: int,
    target: str = "cuda",
    *,
    seed: int = 0,
    seconds: float = math.inf,
    cache_dir: Path | None = None,
) -> Iterator[tuple[int, int, float, Memory]]:
    """Run the calls; after each of STEPS equal parts (calls made, answers wrong, us a call, memory).

    Args:
        calls: at most so many.
        target: of the compiler.
        seed: of the choice of requests.
        seconds: no call begins later than so long after the first.
        cache_dir: of compiled modules.
    """
    device = "cuda" if target == "cuda" else "cpu"
    model = Recommender().eval().to(device)
    compiled = compile_model(model, device, target, cache_dir)
    chance = random.Random(seed)
    with torch.no_grad():
        pool = {
            batch: [Request(args, model(*args)) for args in made]
            for batch in BATCHES
            for made in [[make_args(batch, 100 * batch + n, device) for n in range(POOL)]]
        }
        streams: list[Any] = [None]
        if device == "cuda":
            torch.cuda.synchronize()
            streams = [torch.cuda.default_stream(), *(torch.cuda.Stream() for _ in range(STREAMS - 1))]
        lanes = [Lane(pool, stream, device) for stream in streams]
        made = 0
        end = time.perf_counter() + seconds
        for step in range(1, STEPS + 1):
            start, first = time.perf_counter(), made
            while made < calls * step // STEPS and time.perf_counter() < end:
                chance.choice(lanes).call(compiled, chance)
                made += 1
            for lane in lanes:
                lane.finish()
            memory = read_memory(device)
            time_us = (time.perf_counter() - start) / max(made - first, 1) * 1e6
            yield made, sum(lane.answers.wrong for lane in lanes), time_us, memory
            if time.perf_counter() >= end:
                break
        compiled.check()
        compared = sum(lane.answers.compared for lane in lanes)
        assert compared == made == compiled.calls, (compared, made, compiled.calls)


def main() -> int:
    """Run, print a table, and say whether all is well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--target", default="cuda", choices=["cuda", "emulate", "reference"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=math.inf, help="make no more calls after this long")
    parser.add_argument("--shared", action="store_true", help="other processes use the GPU, too")
    given = parser.parse_args()
    print("|   calls | wrong | us/call | live MB | reserved MB |  GPU MB | RSS MB |")
    print("| ------: | ----: | ------: | ------: | ----------: | ------: | -----: |")
    readings: list[Memory] = []
    made = wrong = 0
    total_us = 0.0
    for done, wrong, time_us, memory in soak(
        given.calls, given.target, seed=given.seed, seconds=given.seconds
    ):
        print(
            f"| {done:7d} | {wrong:5d} | {time_us:7.1f} | {memory.live:7.3f} | {memory.reserved:11.1f} | "
            f"{memory.gpu:7.1f} | {memory.rss:6.1f} |",
            flush=True,
        )
        readings.append(memory)
        total_us += time_us * (done - made)
        made = done
    print("grown in the last third, MB:", ", ".join(f"{k} {v:+.3f}" for k, v in growth(readings).items()))
    print(f"{made} calls, each with its comparison: {made / total_us * 1e6:.0f} a second")
    grown = leaks(readings, shares_gpu=given.shared)
    findings = [f"{wrong} wrong answers"] * bool(wrong) + [f"{kind} grew" for kind in grown]
    print(f"FAILED: {', '.join(findings)}" if findings else "every answer right, memory flat")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
