"""Public models at real sizes on a GPU, against eager there: every one whose library is installed."""

from __future__ import annotations

import pytest

from tests.zoo.catalogue import EXCEPTIONS, MODELS, is_installed
from tests.zoo.coverage_page import NOT_OURS
from tests.zoo.examine import examine
from tests.zoo.model import REAL, ZooModel

pytestmark = pytest.mark.gpu
BATCH = 512
HERE = [
    pytest.param(model, id=model.label)
    for model in MODELS
    if is_installed(model.library) and model.label not in EXCEPTIONS
]


@pytest.mark.parametrize("model", HERE)
def test_equals_eager(model: ZooModel) -> None:
    """Some code of the libraries runs on a CPU only: there is nothing to compare with then."""
    finding = examine(model, BATCH, "cuda", REAL)
    assert finding.status in ("equal", *NOT_OURS), finding.detail
