"""Recurrent layers kept whole by canon, unrolled over their steps, which a static shape numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dlrmc.frontend.builder import Builder, Parts
from dlrmc.frontend.call import Call
from dlrmc.frontend.refusal import Refused
from dlrmc.ir.graph import Node

# Each step is some ten ops; a longer sequence would make a program that takes minutes to compile.
MOST_STEPS = 256


@dataclass(frozen=True)
class Cell:
    """The weights of one layer and direction: w_ih [G*H, I], w_hh [G*H, H], biases [G*H], w_hr [P, H]."""

    input_weight: Node
    hidden_weight: Node
    input_bias: Node | None
    hidden_bias: Node | None


# One step: from the input's product [B, G*H] and the state to the new state, whose first item is the output.
State = tuple[Node, ...]
Step = Callable[[Builder, Node, Cell, State], State]


def gru(builder: Builder, call: Call) -> Parts:
    """`gru.input`: gates reset, update and new."""
    return _layers(builder, call, [call.tensor("hx")], _gru_step)


def lstm(builder: Builder, call: Call) -> Parts:
    """`lstm.input`: gates input, forget, cell and output; the state is (h, c)."""
    return _layers(builder, call, call.tensors("hx"), _lstm_step)


def simple(activation: str) -> Callable[[Builder, Call], Parts]:
    """`rnn_tanh.input` and `rnn_relu.input`."""

    def step(builder: Builder, product: Node, cell: Cell, state: State) -> State:
        total = builder.inner("add", product, _hidden(builder, cell, state[0]))
        return (builder.inner(activation, total),)

    return lambda builder, call: _layers(builder, call, [call.tensor("hx")], step)


def _gru_step(builder: Builder, product: Node, cell: Cell, state: State) -> State:
    hidden = state[0]
    ours, theirs = _gates(builder, product, 3), _gates(builder, _hidden(builder, cell, hidden), 3)
    reset, update = (
        builder.inner("sigmoid", builder.inner("add", ours[gate], theirs[gate])) for gate in (0, 1)
    )
    new = builder.inner("tanh", builder.inner("add", ours[2], builder.inner("mul", reset, theirs[2])))
    rest = builder.inner("mul", builder.inner("sub", hidden, new), update)
    return (builder.inner("add", rest, new),)


def _lstm_step(builder: Builder, product: Node, cell: Cell, state: State) -> State:
    gates = _gates(builder, builder.inner("add", product, _hidden(builder, cell, state[0])), 4)
    taken, kept, out = (builder.inner("sigmoid", gates[gate]) for gate in (0, 1, 3))
    fresh = builder.inner("mul", taken, builder.inner("tanh", gates[2]))
    memory = builder.inner("add", builder.inner("mul", kept, state[1]), fresh)
    return builder.inner("mul", out, builder.inner("tanh", memory)), memory


def _hidden(builder: Builder, cell: Cell, hidden: Node) -> Node:
    return builder.op("linear", ((hidden,), cell.hidden_weight, cell.hidden_bias))


def _gates(builder: Builder, products: Node, count: int) -> list[Node]:
    width = products.shape[-1] // count
    return [builder.slice(products, 1, gate * width, (gate + 1) * width) for gate in range(count)]


def _layers(builder: Builder, call: Call, states: Sequence[Node], step: Step) -> Parts:
    """All layers and directions; result 0 is the last layer's outputs, the others its final states."""
    if call["train"] and call["dropout"]:
        raise Refused("a recurrent layer with live dropout: call model.eval() before the export")
    time = 1 if call["batch_first"] else 0
    x = call.tensor("input")
    if x.type.rank != 3 or not 0 < x.shape[time] <= MOST_STEPS:
        raise Refused(
            f"a recurrent layer over {x.type}; from 1 to {MOST_STEPS} steps of a batch are unrolled"
        )
    inputs = [_at(builder, x, time, step_number) for step_number in range(x.shape[time])]
    cells = _cells(call)
    directions = 2 if call["bidirectional"] else 1
    finals: list[State] = []
    for layer in range(call["num_layers"]):
        outputs: list[list[Node]] = []
        for direction in range(directions):
            number = layer * directions + direction
            first = tuple(_at(builder, state, 0, number) for state in states)
            ordered = inputs[::-1] if direction else inputs
            results = _run(builder, ordered, cells[number], first, step)
            finals.append(results[-1])
            hidden = [result[0] for result in results]
            outputs.append(hidden[::-1] if direction else hidden)
        inputs = [builder.cat(each, 1) for each in zip(*outputs, strict=True)]
    return _results(builder, inputs, finals, time)


def _run(builder: Builder, inputs: Sequence[Node], cell: Cell, state: State, step: Step) -> list[State]:
    results: list[State] = []
    for x in inputs:
        product = builder.op("linear", ((x,), cell.input_weight, cell.input_bias))
        state = step(builder, product, cell, state)
        results.append(state)
    return results


def _cells(call: Call) -> list[Cell]:
    weights = call.tensors("params")
    size = 4 if call["has_biases"] else 2
    count = call["num_layers"] * (2 if call["bidirectional"] else 1)
    if len(weights) != size * count:
        raise Refused("a recurrent layer with projections")
    groups = [weights[size * number : size * (number + 1)] for number in range(count)]
    return [Cell(group[0], group[1], *(group[2:] or (None, None))) for group in groups]


def _results(builder: Builder, outputs: Sequence[Node], finals: Sequence[State], time: int) -> Parts:
    def item(index: int) -> Node:
        if index == 0:
            return _stacked(builder, outputs, time)
        return _stacked(builder, [state[index - 1] for state in finals], 0)

    return Parts(item, 1 + len(finals[0]))


def _stacked(builder: Builder, values: Sequence[Node], dim: int) -> Node:
    shape = values[0].shape
    wide = (*shape[:dim], 1, *shape[dim:])
    return builder.cat([builder.inner_view(value, wide) for value in values], dim)


def _at(builder: Builder, x: Node, dim: int, index: int) -> Node:
    return builder.inner("select", x, dim=dim, index=index)


IMPORTERS = (
    (("aten.gru.input",), gru),
    (("aten.lstm.input",), lstm),
    (("aten.rnn_tanh.input",), simple("tanh")),
    (("aten.rnn_relu.input",), simple("relu")),
)
