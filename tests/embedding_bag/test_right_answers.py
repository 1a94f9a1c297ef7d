"""EmbeddingBag's table of right answers, through torch.export and dlrmc.compile, bit for bit."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from dlrmc.runtime.compiled import Compiled
from tests.embedding_bag.bag_cases import CASES, same_bits
from tests.embedding_bag.bag_programs import run_family

WAYS = (("reference", "fused"), ("emulate", "fused"), ("emulate", "unfused"), ("emulate", "alone"))


@functools.cache
def family(bags: int, target: str, pipeline: str) -> tuple[Compiled, dict[str, Any]]:
    return run_family(bags, target, pipeline)


@pytest.mark.parametrize(("target", "pipeline"), WAYS, ids=["-".join(way) for way in WAYS])
@pytest.mark.parametrize("name", CASES)
def test_the_right_answer(name: str, target: str, pipeline: str) -> None:
    case = CASES[name]
    bags, negatives = family(case.bags, target, pipeline)[1][name]
    right = case.answer()
    assert same_bits(bags, right), f"{bags} is not {right}"
    assert same_bits(negatives, -right)
