"""Public models, whole and unchanged: they export, compile without a rest and equal eager PyTorch.

All of them on `reference`, fused and with one kernel an op; some on the emulator, with a dynamic batch and
with a batch of one. `make zoo` runs those of libraries that stand apart, and the whole zoo on the emulator.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.catalogue import APART, EXCEPTIONS, MODELS
from tests.zoo.coverage_page import NOT_OURS, statuses
from tests.zoo.dynamic import examine_dynamic
from tests.zoo.examine import Finding, examine
from tests.zoo.model import ZooModel

BATCH = 5
PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"

# One of each kind: towers, crosses, machines, attention, recurrence, several tasks, bags.
EMULATED = (
    "plain/quotient-remainder, multiplied",
    "plain/mixed widths",
    "torchfm/ffm",
    "torchfm/xdfm",
    "deepctr-torch/DIN dice",
    "deepctr-torch/CCPM",
    "deepctr-torch/DeepFM list mean by length",
    "torch-rechub/EDCN attention_pooling",
    "torch-rechub/PLE",
    "torch-rechub/DSSM",
    "torch-rechub/YoutubeDNN",
    "torch-rechub/HSTU",
    "paper/FieldMatrices",
    "paper/EvolvingInterest",
    "paper/NumbersAsFields",
    "paper/SearchedInterest",
)
DYNAMIC = (
    "plain/dot",
    "plain/inputs stacked",
    "plain/one stacked table",
    "torchfm/afi",
    "deepctr-torch/DIN relu",
    "deepctr-torch/PNN outer",
    "torch-rechub/BST",
    "torch-rechub/AITM",
    "torch-rechub/DSSM",
    "paper/FieldMatrices",
    "paper/TwoStreams",
    "paper/CausalAttention",
    "paper/HashedBags",
)


def _marked(model: ZooModel) -> object:
    marks = [pytest.mark.zoo] if model.library in APART else []
    return pytest.param(model, id=model.label, marks=marks)


def _named(labels: tuple[str, ...]) -> list[object]:
    found = [model for model in MODELS if model.label in labels]
    assert len(found) == len(labels)
    return [_marked(model) for model in found]


EVERY = [_marked(model) for model in MODELS]
EQUAL = [_marked(model) for model in MODELS if model.label not in EXCEPTIONS]


def check(finding: Finding) -> None:
    """The finding is what the catalogue says."""
    status, reason = EXCEPTIONS.get(finding.model, ("equal", ""))
    assert finding.status == status, finding.detail
    assert reason in finding.detail


def check_if_it_can_be(finding: Finding) -> None:
    """The same of models whose code may forbid the batch size: torch-rechub's SASRec squeezes one of 1."""
    assert finding.status in ("equal", *NOT_OURS), finding.detail


@pytest.mark.parametrize("model", EVERY)
def test_compiles_whole_and_equals_eager(model: ZooModel) -> None:
    check(examine(model, BATCH))


@pytest.mark.parametrize("model", _named(EMULATED))
def test_the_emitted_source_equals_eager(model: ZooModel) -> None:
    check(examine(model, BATCH, "emulate"))


@pytest.mark.parametrize("model", _named(DYNAMIC))
def test_one_export_serves_every_batch_size(model: ZooModel) -> None:
    check(examine_dynamic(model, (3, 7)))


@pytest.mark.parametrize("model", _named(DYNAMIC))
def test_a_batch_of_one(model: ZooModel) -> None:
    check(examine(model, 1))


@pytest.mark.zoo
@pytest.mark.parametrize("model", EQUAL)
def test_every_emitted_source_equals_eager(model: ZooModel) -> None:
    check(examine(model, BATCH, "emulate"))


@pytest.mark.zoo
@pytest.mark.parametrize("model", EQUAL)
def test_every_export_with_a_dynamic_batch(model: ZooModel) -> None:
    check_if_it_can_be(examine_dynamic(model, (3, 7)))


@pytest.mark.zoo
@pytest.mark.parametrize("model", EQUAL)
def test_every_batch_of_one(model: ZooModel) -> None:
    check_if_it_can_be(examine(model, 1))


def test_the_page_of_coverage_is_of_these_models() -> None:
    expected = {model.label: EXCEPTIONS.get(model.label, ("equal",))[0] for model in MODELS}
    assert statuses(PAGE.read_text(encoding="utf-8")) == expected, "stale: run `make coverage`"
