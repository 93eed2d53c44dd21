import ctypes
import re
from itertools import chain

import numpy as np
import pytest

import flow_kernels as fk
from flow_kernels.testing import assert_same_bits, normal, poisoned

FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_double)
)
ROWS, COLS = 70, 50
X, DY, WEIGHT, BIAS = normal(0, (ROWS, COLS)), normal(1, (ROWS, COLS)), normal(2, COLS), normal(3, COLS)
TARGETS = np.arange(ROWS) % COLS
MEAN, RSTD = fk.layer_norm(X)[1:]
LOSS, LSE = fk.cross_entropy(X, TARGETS)
Y = fk.softmax(X)
CAUSAL = fk.softmax(X.reshape(2, 35, 50), causal=True).reshape(ROWS, COLS)


def call(name, buffers, dims=(), attrs=()):
    function = FUNCTION(fk.table()[name].address)
    addresses = [None if b is None else b.ctypes.data for b in buffers]
    return function(
        (ctypes.c_void_p * len(buffers))(*addresses),
        (ctypes.c_int64 * len(dims))(*dims),
        (ctypes.c_double * len(attrs))(*attrs),
    )


def matrix():
    return poisoned((ROWS, COLS))


def vector():
    return poisoned(ROWS)


def blocks(x):
    return x.reshape(2, 35, 50)


# name, inputs, outputs, scratch, dims, attrs, what the Python function gives
CASES = [
    (
        "layer_norm_forward",
        [X, WEIGHT, BIAS],
        [matrix(), vector(), vector()],
        [],
        [ROWS, COLS],
        [1e-3],
        lambda: fk.layer_norm(X, WEIGHT, BIAS, 1e-3),
    ),
    (
        "layer_norm_forward",
        [X, None, None],
        [matrix(), vector(), vector()],
        [],
        [ROWS, COLS],
        [1e-5],
        lambda: fk.layer_norm(X),
    ),
    (
        "layer_norm_backward",
        [DY, X, WEIGHT, MEAN, RSTD],
        [matrix(), poisoned(COLS), poisoned(COLS)],
        [poisoned((32, 2, COLS))],
        [ROWS, COLS],
        [],
        lambda: fk.layer_norm_backward(DY, X, WEIGHT, MEAN, RSTD),
    ),
    (
        "cross_entropy_forward",
        [X, TARGETS],
        [vector(), vector()],
        [],
        [ROWS, COLS, 7],
        [],
        lambda: fk.cross_entropy(X, TARGETS, 7),
    ),
    (
        "cross_entropy_backward",
        [MEAN, X, TARGETS, LSE],
        [matrix()],
        [],
        [ROWS, COLS, 7],
        [],
        lambda: [fk.cross_entropy_backward(MEAN, X, TARGETS, LSE, 7)],
    ),
    ("gelu_forward", [X], [matrix()], [], [X.size], [], lambda: [fk.gelu(X)]),
    ("gelu_backward", [DY, X], [matrix()], [], [X.size], [], lambda: [fk.gelu_backward(DY, X)]),
    ("gelu_tanh_forward", [X], [matrix()], [], [X.size], [], lambda: [fk.gelu(X, "tanh")]),
    ("gelu_tanh_backward", [DY, X], [matrix()], [], [X.size], [], lambda: [fk.gelu_backward(DY, X, "tanh")]),
    ("softmax_forward", [X], [matrix()], [], [ROWS, COLS, 0], [], lambda: [fk.softmax(X)]),
    ("softmax_forward", [X], [matrix()], [], [ROWS, COLS, 35], [], lambda: [CAUSAL]),
    ("softmax_backward", [DY, Y], [matrix()], [], [ROWS, COLS, 0], [], lambda: [fk.softmax_backward(DY, Y)]),
    (
        "softmax_backward",
        [DY, CAUSAL],
        [matrix()],
        [],
        [ROWS, COLS, 35],
        [],
        lambda: [fk.softmax_backward(blocks(DY), blocks(CAUSAL), causal=True).reshape(ROWS, COLS)],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_c_function_gives_the_bits_of_the_python_function(case):
    name, inputs, outputs, scratch, dims, attrs, python = case
    assert call(name, [*inputs, *outputs, *scratch], dims, attrs) == 0
    for actual, expected in zip(outputs, python(), strict=True):
        assert_same_bits(actual, expected)


def test_the_c_function_of_adamw_gives_the_bits_of_the_python_function():
    lists = [[normal([i, k], n) for k, n in enumerate((3, 0, 70))] for i in range(4)]
    lists[3] = [v * v for v in lists[3]]
    expected = [[a.copy() for a in arrays] for arrays in lists]
    fk.adamw(*expected, step=2, lr=0.1, beta1=0.8, beta2=0.9, eps=1e-6, weight_decay=0.3, grad_scale=0.5)
    assert call("adamw", [*chain(*lists)], [3, 3, 0, 70], [0.1, 0.8, 0.9, 1e-6, 0.3, 2, 0.5]) == 0
    for a, b in zip(chain(*lists), chain(*expected), strict=True):
        assert_same_bits(a, b)


def test_the_c_functions_of_cross_entropy_return_one_more_than_the_bad_row():
    targets = TARGETS.copy()
    targets[[13, 20]] = COLS
    loss, dlogits = vector(), matrix()
    assert call("cross_entropy_forward", [X, targets, loss, vector()], [ROWS, COLS, -100]) == 14
    assert call("cross_entropy_backward", [LOSS, X, targets, LSE, dlogits], [ROWS, COLS, -100]) == 14
    assert np.isnan(loss).all()
    assert np.isnan(dlogits).all()


def test_every_entry_of_the_table_is_tested_here():
    assert {case[0] for case in CASES} | {"adamw"} == set(fk.table())
    assert list(fk.table()) == sorted(fk.table())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_signature_names_each_buffer_dim_and_attr(case):
    name, inputs, outputs, scratch, dims, attrs, _ = case
    signature_buffers, signature_dims, signature_attrs = fk.table()[name].signature.split(";")
    buffers = re.findall(r"(out |scratch )?(\w+) (f32|i64)(\[[^\]]*\])(\?)?(?:, |$)", signature_buffers)
    assert [b[0].strip() for b in buffers] == [""] * len(inputs) + ["out"] * len(outputs) + ["scratch"] * len(scratch)
    assert all(b[4] == "?" for b, given in zip(buffers, inputs, strict=False) if given is None)
    assert len(signature_dims.split(",")) == len(dims)
    assert len([a for a in signature_attrs.split(",") if a.strip()]) == len(attrs)
