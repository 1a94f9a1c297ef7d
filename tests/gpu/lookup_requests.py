"""Requests for the lookup program of `tests/runtime/programs.py`, on the GPU."""

import torch

from tests.runtime.programs import eager_lookup

BAD = torch.tensor([1, 2, 10**9, -3])
SLEEP_CYCLES = 2_000_000  # about a millisecond


def same(found, dense, ids):
    for one, other in zip(found, eager_lookup(dense.cpu(), ids.cpu()), strict=True):
        assert one.is_cuda
        torch.testing.assert_close(one.cpu(), other, rtol=0, atol=0)
    return True


def request(number):
    """A request that no other number gives, on the GPU."""
    generator = torch.Generator().manual_seed(number)
    dense = torch.randn(4, 3, generator=generator)
    ids = torch.randint(10, (4,), generator=generator)
    return dense.cuda(), ids.cuda()
