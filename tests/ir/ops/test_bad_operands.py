"""Every refusal of a type rule, by its exact message."""

from __future__ import annotations

import pytest

from dlrmc.errors import TypeRuleError
from tests.ir.ops import bad_computing, bad_moving
from tests.ir.ops.sample import Bad, infer_text


@pytest.mark.parametrize(
    "bad", [*bad_computing.BAD, *bad_moving.BAD], ids=lambda bad: f"{bad.op}: {bad.message.splitlines()[0]}"
)
def test_refused_with_this_message(bad: Bad):
    with pytest.raises(TypeRuleError) as error:
        infer_text(bad)
    assert str(error.value) == bad.message
