"""Index arithmetic against brute force: the C text, evaluated, is the true index."""

import itertools
import math

import numpy as np
import pytest

from dlrmc.codegen.index_expressions import (
    add,
    constant,
    divide,
    dot,
    modulo,
    ravel,
    render,
    scale,
    unravel,
    variable,
)


def evaluate(index, **values):
    return eval(render(index).replace("/", "//"), {}, values)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (constant(0), "0"),
        (variable("i", 8), "i"),
        (variable("i", 1), "0"),
        (add((variable("i", 8), constant(3))), "i + 3"),
        (scale(variable("i", 8), 4), "i * 4"),
        (scale(variable("i", 8), 0), "0"),
        (divide(variable("i", 8), 1), "i"),
        (divide(variable("i", 8), 8), "0"),
        (divide(variable("i", 9), 8), "i / 8"),
        (modulo(variable("i", 8), 8), "i"),
        (modulo(variable("i", 9), 8), "i % 8"),
        (divide(scale(variable("i", 8), 12), 4), "i * 3"),
        (divide(scale(variable("i", 8), 4), 12), "i / 3"),
        (modulo(scale(variable("i", 8), 4), 12), "i % 3 * 4"),
        (divide(add((scale(variable("i", 8), 4), variable("j", 4))), 4), "i"),
        (modulo(add((scale(variable("i", 8), 4), variable("j", 4))), 4), "j"),
        (divide(divide(variable("i", 100), 3), 5), "i / 15"),
        (modulo(divide(modulo(variable("i", 1000), 60), 5), 4), "i / 5 % 4"),
        (modulo(modulo(variable("i", 1000), 60), 12), "i % 12"),
        (divide(modulo(variable("i", 1000), 60), 60), "0"),
        (divide(modulo(add((variable("i", 99), constant(1))), 7), 2), "(i + 1) % 7 / 2"),
    ],
)
def test_simplified_text(index, text):
    assert render(index) == text


def test_an_index_taken_apart_and_put_together_is_itself():
    position = variable("i", 2 * 3 * 4 * 5)
    assert render(ravel(unravel(position, (2, 3, 4, 5)), (2, 3, 4, 5))) == "i"
    assert render(ravel(unravel(position, (6, 20)), (6, 20))) == "i"
    shifted = add((position, constant(7)))
    assert render(ravel(unravel(shifted, (127, 1)), (127, 1))) == "i + 7"


def test_digits_of_a_sum_join_with_their_constant():
    position = add((variable("i", 13), constant(7)))
    assert render(ravel(unravel(position, (4, 5)), (4, 5))) == "i + 7"


def test_a_flattened_inner_view_reads_one_product():
    b, f, d = unravel(variable("i", 4 * 6 * 8), (4, 6, 8))
    assert render(dot((b, f, d), (48, 8, 1))) == "i"
    assert render(dot((f, d), (8, 1))) == "i % 48"
    assert render(dot((b, d), (8, 1))) == "i / 48 * 8 + i % 8"


def test_variables_are_found_inside_of_digits():
    index = divide(add((variable("i", 9), scale(variable("j", 9), 2))), 4)
    assert index.variables == {"i", "j"}


@pytest.mark.parametrize("seed", range(40))
def test_random_chains_of_views_are_the_true_index(seed):
    random = np.random.default_rng(seed)
    sizes = [int(n) for n in random.choice([1, 2, 3, 4, 6], 4)]
    array = np.arange(math.prod(sizes)).reshape(sizes)
    steps = _random_steps(random, array)
    final = steps[-1][1].shape if steps else array.shape
    position = variable("i", math.prod(final))
    indices = unravel(position, final)
    for kind, _, argument, before in reversed(steps):
        indices = _backward(kind, argument, before, indices)
    text = ravel(indices, array.shape)
    flat = steps[-1][1].reshape(-1) if steps else array.reshape(-1)
    for i in range(len(flat)):
        assert evaluate(text, i=i) == flat[i], render(text)
    assert text.largest >= flat.max()


def _random_steps(random, array):
    steps = []
    for _ in range(5):
        before = array.shape
        kind = random.choice(["view", "permute", "slice"])
        if kind == "view":
            argument = _random_shape(random, array.size)
            array = array.reshape(argument)
        elif kind == "permute":
            argument = tuple(int(p) for p in random.permutation(array.ndim))
            array = array.transpose(argument)
        else:
            dim = int(random.integers(array.ndim))
            start, step = int(random.integers(array.shape[dim])), int(random.integers(1, 3))
            argument = (dim, start, step)
            array = array[(*[slice(None)] * dim, slice(start, None, step))]
        steps.append((kind, array, argument, before))
    return steps


def _random_shape(random, size):
    shape = []
    while size > 1:
        factors = [f for f in range(2, size + 1) if size % f == 0]
        shape.append(int(random.choice(factors)))
        size //= shape[-1]
    return (*shape, 1) if random.integers(2) else (1, *shape)


def _backward(kind, argument, before, indices):
    if kind == "view":
        return unravel(ravel(indices, argument), before)
    if kind == "permute":
        return tuple(indices[argument.index(axis)] for axis in range(len(argument)))
    dim, start, step = argument
    return (*indices[:dim], add((scale(indices[dim], step), constant(start))), *indices[dim + 1 :])


def test_quotients_and_remainders_are_right_for_every_small_sum():
    for p, q, k, d in itertools.product((1, 2, 3, 4, 6), (1, 2, 4, 5), (0, 1, 3, 8), (1, 2, 3, 4, 6, 8)):
        index = add((scale(variable("i", 7), p), scale(variable("j", 5), q), constant(k)))
        quotient, remainder = divide(index, d), modulo(index, d)
        for i, j in itertools.product(range(7), range(5)):
            value = p * i + q * j + k
            assert evaluate(quotient, i=i, j=j) == value // d
            assert evaluate(remainder, i=i, j=j) == value % d
