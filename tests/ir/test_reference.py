from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dlrmc.errors import BoundsError, InputError
from dlrmc.ir.parser import parse_graph
from dlrmc.ir.reference import evaluate, evaluate_all

GRAPH = parse_graph("""graph @g {
  input %x : f32[2,3]
  input %unused : i64[4]
  weight %w : f32[2,3] = "layer.w"
  const %c : f32[] = 10.0
  %y = add(%x, %w) : f32[2,3]
  %z = mul(%y, %c) : f32[2,3]
  return %z, %x, %c
}
""")
X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.ones((2, 3), np.float32)


def test_outputs_are_the_values_of_the_graph():
    z, x, c = evaluate(GRAPH, {"x": X, "unused": np.zeros(4, np.int64)}, {"layer.w": W})
    assert z.tolist() == [[10, 20, 30], [40, 50, 60]]
    assert x is X
    assert c == 10.0


def test_an_unused_input_may_be_left_out():
    assert evaluate(GRAPH, {"x": X}, {"layer.w": W})[0][0, 0] == 10


def test_all_values_by_name():
    values = evaluate_all(GRAPH, {"x": X}, {"layer.w": W})
    assert sorted(values) == ["c", "w", "x", "y", "z"]
    assert values["y"].tolist() == (X + 1).tolist()


@pytest.mark.parametrize(
    ("inputs", "weights", "message"),
    [
        ({}, {"layer.w": W}, "input %x: no array\n  expected: f32[2,3]"),
        ({"x": X}, {}, 'weight "layer.w": no array\n  expected: f32[2,3]'),
        (
            {"x": X.astype(np.float64)},
            {"layer.w": W},
            "input %x: float64[2, 3]\n  expected: f32[2,3]",
        ),
        ({"x": X.T}, {"layer.w": W}, "input %x: float32[3, 2]\n  expected: f32[2,3]"),
        ({"x": X}, {"layer.w": W[0]}, 'weight "layer.w": float32[3]\n  expected: f32[2,3]'),
        (
            {"x": X, "unused": X},
            {"layer.w": W},
            "input %unused: float32[2, 3]\n  expected: i64[4]",
        ),
    ],
)
def test_arrays_of_another_type_are_refused(inputs, weights, message: str):
    with pytest.raises(InputError) as error:
        evaluate(GRAPH, inputs, weights)
    assert str(error.value) == message


def test_a_kernel_means_its_body_and_item_one_of_its_results():
    graph = parse_graph("""graph @g {
  input %x : f32[3]
  input %y : f32[3]
  %k = kernel map(%a=%y, %b=%x) {
    %first = sub(%a, %b) : f32[3]
    %inner = kernel map(%first) {
      %second = neg(%first) : f32[3]
      yield %second
    } : f32[3]
    yield %first, %inner
  } : (f32[3], f32[3])
  %one = item(%k) {index=1} : f32[3]
  %zero = item(%k) {index=0} : f32[3]
  return %zero, %one
}
""")
    x, y = np.array([1, 2, 3], np.float32), np.array([10, 10, 10], np.float32)
    zero, one = evaluate(graph, {"x": x, "y": y}, {})
    assert zero.tolist() == [9, 8, 7]
    assert one.tolist() == [-9, -8, -7]
    assert "k" not in evaluate_all(graph, {"x": x, "y": y}, {})


def test_a_derive_means_its_body():
    graph = parse_graph("""graph @g {
  weight %w : f32[3] = "w"
  %d = derive(%w) {
    %sum = sum(%w) {dims=[0]} : f32[]
    yield %sum
  } : f32[]
  return %d
}
""")
    assert evaluate(graph, {}, {"w": np.array([1, 2, 3], np.float32)})[0] == 6


def test_infinities_meet_without_a_warning():
    graph = parse_graph("graph @g { input %x : f32[1] %y = sub(%x, %x) : f32[1] return %y }")
    with np.errstate(all="raise"):
        assert np.isnan(evaluate(graph, {"x": np.array([np.inf], np.float32)}, {})[0])


def test_an_id_out_of_range_is_told():
    graph = parse_graph(
        'graph @g { input %i : i64[2] weight %t : f32[5,1] = "t" '
        "%y = embedding(%t, %i) : f32[2,1] return %y }"
    )
    with pytest.raises(BoundsError) as error:
        evaluate(graph, {"i": np.array([4, 5])}, {"t": np.zeros((5, 1), np.float32)})
    assert str(error.value) == "embedding: ids[1] = 5\n  expected: 0 <= value < 5"


def test_bf16_inputs_are_those_of_ml_dtypes():
    graph = parse_graph("graph @g { input %x : bf16[2] %y = relu(%x) : bf16[2] return %y }")
    (y,) = evaluate(graph, {"x": np.array([-1, 0.5], ml_dtypes.bfloat16)}, {})
    assert (y.dtype, y.astype(float).tolist()) == (np.dtype(ml_dtypes.bfloat16), [0, 0.5])
