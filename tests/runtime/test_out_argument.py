import pytest
import torch

from dlrmc.errors import InputError
from tests.runtime.programs import (
    DENSE,
    IDS,
    Const,
    compile_lookup,
    compile_program,
    eager_lookup,
    make_program,
)


@pytest.fixture(params=["emulate", "reference"])
def lookup(request, cache_dir):
    return compile_lookup(cache_dir, target=request.param)


def fresh():
    return torch.full((4, 3), 7.0), torch.full((4, 3), 7.0)


def test_the_tensors_are_written_and_returned(lookup):
    out = fresh()
    for dense in (DENSE, -DENSE):
        found = lookup(dense, IDS, out=out)
        assert found[0] is out[0]
        assert found[1] is out[1]
        for one, other in zip(out, eager_lookup(dense, IDS), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert lookup(DENSE, IDS)[0] is not out[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda out: out[0], ["out", "structure of the results"]),
        (lambda out: (*out, out[0]), ["out", "structure of the results"]),
        (lambda out: (out[0], None), ["result 1", "a NoneType", "f32[4,3]"]),
        (lambda out: (out[0].double(), out[1]), ["result 0", "f64[4,3]", "f32[4,3]"]),
        (lambda out: (out[0], out[1][:2]), ["result 1", "f32[2,3]"]),
        (lambda out: (torch.empty(3, 4).t(), out[1]), ["result 0", "strides [1,4]", "contiguous"]),
        (lambda out: (torch.empty(13)[1:].reshape(4, 3), out[1]), ["multiple of 16 bytes"]),
        (lambda out: (out[0].requires_grad_(), out[1]), ["without gradients"]),
        (lambda out: (out[0].to("meta"), out[1]), ["on meta", "on cpu"]),
        (lambda out: (out[0], out[0]), ["shares memory with an input or another result"]),
    ],
)
def test_what_cannot_be_written_is_refused(lookup, make, words):
    with pytest.raises(InputError) as caught:
        lookup(DENSE, IDS, out=make(fresh()))
    for word in words:
        assert word in str(caught.value)


def test_an_input_is_never_written(lookup):
    dense = DENSE.clone()
    with pytest.raises(InputError, match="shares memory with an input"):
        lookup(dense, IDS, out=(dense, fresh()[1]))
    assert torch.equal(dense, DENSE)


SCALE = """graph @scale {
  input %x : f32[2]
  input %out : f32[2]
  %y = mul(%x, %out) : f32[2]
  return %y
}
"""
X, TWO = torch.tensor([5.0, 6.0]), torch.tensor([2.0, 3.0])


def test_a_model_with_an_argument_of_this_name_keeps_it(cache_dir):
    scale = compile_program(make_program(SCALE, {}, ("x", "out"), {}, 0), cache_dir, target="reference")
    assert torch.equal(scale(X, out=TWO), torch.tensor([10.0, 18.0]))


def test_results_that_are_not_computed_are_not_looked_at(cache_dir):
    text = SCALE.replace("%out", "%k")
    results = {"y": 0, "again": 0, "input": "x", "number": Const(3)}
    scale = compile_program(make_program(text, {}, ("x", "k"), {}, results), cache_dir, target="emulate")
    y = torch.empty(2)
    found = scale(X, TWO, out={"y": y, "again": y, "input": None, "number": None})
    assert found["y"] is y
    assert found["again"] is y
    assert found["input"] is X
    assert found["number"] == 3
    with pytest.raises(InputError, match="that of its twin"):
        scale(X, TWO, out={"y": y, "again": torch.empty(2), "input": None, "number": None})


def test_a_replica_gives_the_same_and_counts_for_itself(lookup):
    replica = lookup.replica()
    for one, other in zip(replica(DENSE, IDS), eager_lookup(DENSE, IDS), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert (lookup.stats()["calls"], replica.stats()["calls"]) == (0, 1)
    assert replica.replica()(DENSE, IDS)[0].shape == (4, 3)
