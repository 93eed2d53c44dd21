"""What a caller gets wrong is a ValueError, TypeError or IndexError that names the op, raised before any work."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flow_core as flow
from flow_core.testing import CALLS, DTYPES, Draw, calls, examples

ERRORS = (ValueError, TypeError, IndexError)
WRONG_ATTRS = (
    None,
    True,
    -1,
    0,
    2,
    7,
    1.5,
    -2.5,
    "sum",
    (),
    (0, 0),
    (0, 9),
    (-1, 2),
    (2, 0),
    (1.5,),
    ("slice", 0, 1, 1),
)

# Ops that look at elements: ids and targets name rows and classes, ints have no negative powers, steps count from 1.
LOOK_AT_ELEMENTS = {"take_rows", "add_rows", "cross_entropy_rows", "cross_entropy_rows_backward", "pow", "adamw_"}
# No integer is divided by 0.
LOOK_AT_ELEMENTS |= {"fmod", "remainder", "floor_divide"}
# So do those that a number beyond [0, 1] stops, a singular matrix or one not positive definite, or pivots beyond the rows.
LOOK_AT_ELEMENTS |= {
    "binary_cross_entropy",
    "inv",
    "solve",
    "lu_factor",
    "ldl_factor",
    "ldl_solve",
    "cholesky",
    "permutation",
}

LOOK_AT_ELEMENTS |= {"at", "add_to", "put_at", "put_at_", "put_along", "combine_along"}

# What users call is a function of the op, or the message comes from the op that this one is the gradient of.
PUBLIC = {"split_sizes": "split", "slice_backward": "slice_", "permutation": "lu_unpack"}


@st.composite
def spoilt(draw, name):
    """A call of the op `name` with one argument or attribute exchanged for another, which may fit or not."""
    call = draw(calls(name))
    places = [*range(len(call.args)), *call.attrs]
    if not places:
        return call
    place = draw(st.sampled_from(places))
    if isinstance(place, str):
        return call._replace(attrs={**call.attrs, place: draw(st.sampled_from(WRONG_ATTRS))})
    d = Draw(draw, DTYPES, smooth=False)
    old = call.args[place]
    array = d.array(d.shape(), old.dtype if isinstance(old, np.ndarray) and d.flag() else d.one_of(*DTYPES), 0, 1)
    new = d.one_of(array, array, array, None, 1, 1.5, 2j, True)
    return call._replace(args=(*call.args[:place], new, *call.args[place + 1 :]))


def inferred(call):
    """What infer and the check of the arguments' kinds say of a call: specs, or the error."""
    try:
        call.op.check(call.specs())
        return call.op.infer(*call.specs(), **call.attrs), None
    except ERRORS as error:
        return None, error


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_raises_what_infer_raises_and_nothing_else(name):
    @examples(60)
    @given(spoilt(name))
    def law(call):
        _, expected = inferred(call)
        tensors = call.tensors()
        before = [t.data.tobytes() if isinstance(t, flow.Tensor) else t for t in tensors]
        try:
            call.op(*tensors, **call.attrs)
        except ERRORS as error:
            found = error
        else:
            found = None
        if expected is None:
            assert found is None or name in LOOK_AT_ELEMENTS, "infer accepted a call that then failed"
        else:
            assert (type(found), str(found)) == (type(expected), str(expected))
            assert any(word in str(found) for word in (name, PUBLIC.get(name, name), "dtype", "promote", "device"))
        if found is not None:
            assert [t.data.tobytes() if isinstance(t, flow.Tensor) else t for t in tensors] == before

    law()


X = flow.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: flow.matmul(X, flow.ones(2, 3)), ValueError, r"matmul: f32\[2, 3\] and f32\[2, 3\].*3 and 2"),
        (lambda: X + flow.ones(4), ValueError, r"add: shapes \(2, 3\) and \(4,\) do not broadcast: sizes \[3, 4\]"),
        (lambda: X.sum(2), ValueError, r"sum: dim 2 is out of range for a tensor of 2 dims, expected -2 to 1"),
        (lambda: X.sum(dim=(0, -2)), ValueError, "sum: .* names a dim twice"),
        (lambda: X.sum("rows"), TypeError, "sum: dim is 'rows', expected an int"),
        (lambda: X.reshape(4, 2), ValueError, r"reshape: f32\[2, 3\] has 6 elements, shape \(4, 2\) has 8"),
        (lambda: X.reshape(-1, 4), ValueError, r"reshape: .* does not divide"),
        (lambda: X.reshape(-1, -1), ValueError, r"reshape: .* several sizes of -1"),
        (lambda: X.expand(3, 3), ValueError, "expand: size 2 of .* cannot become 3"),
        (lambda: X[2], IndexError, r"index 2 is out of range for dim 0 of f32\[2, 3\]"),
        (lambda: X[0, 0, 0], IndexError, r"f32\[2, 3\] has 2 dims"),
        (lambda: X[..., ...], IndexError, "one '...' only"),
        (lambda: X["a"], IndexError, "index of str is none of"),
        (lambda: X[1.0], IndexError, "index of float is none of"),
        (lambda: X[1.5:], TypeError, "cannot be interpreted as an integer"),
        (lambda: X[::0], ValueError, "step cannot be zero"),
        (lambda: X[flow.tensor([2])], IndexError, "index 2 is out of range for 2 rows"),
        (lambda: X[flow.tensor([True])], IndexError, "does not have the shape of dims 0 to 0"),
        (lambda: flow.cat([X, flow.ones(3, 2)]), ValueError, r"cat: f32\[2, 3\] and f32\[3, 2\] differ"),
        (lambda: flow.cat([]), ValueError, "cat: no tensors given"),
        (lambda: flow.stack([]), ValueError, "stack: no tensors given"),
        (lambda: X.split(2, dim=5), ValueError, "split: dim 5"),
        (lambda: X.split([1, 2, 3]), ValueError, "split: sizes .* add up to 6"),
        (lambda: X.split(0), ValueError, "split_size 0 is not a positive int"),
        (lambda: X.long().mean(), TypeError, "mean: .* holds integers"),
        (lambda: flow.softmax(X.long(), -1), TypeError, "softmax: .* is not of a float type"),
        (lambda: flow.amax(flow.ones(0)), ValueError, "amax: .* of nothing is undefined"),
        (lambda: flow.argmax(flow.ones(0)), ValueError, "argmax: .* has no elements"),
        (lambda: -X.bool(), TypeError, "neg: .* bools"),
        (lambda: X.bool() - X.bool(), TypeError, "sub: .* bools"),
        (lambda: flow.where(X, X, X), TypeError, "where: condition is .* expected bools"),
        (lambda: X.to("cuda"), ValueError, "device 'cuda' cannot be used"),
        (lambda: X.to("float128"), ValueError, "dtype 'float128' is not one of bool, uint8"),
        (lambda: flow.cast(X, dtype=None), ValueError, "dtype None is not one of"),
        (lambda: flow.zeros(2, -1), ValueError, r"zeros: size -1 in shape \(2, -1\) is negative"),
        (lambda: flow.zeros(2.0), TypeError, "zeros: size 2.0 .* is not an int"),
        (lambda: flow.arange(0, 1, 0), ValueError, "arange_from: .* step not 0"),
        (lambda: flow.layer_norm(flow.ones(2, 0)), ValueError, "layer_norm: .* one element at least"),
        (lambda: flow.cross_entropy_rows(X, flow.ones(2)), TypeError, "targets are .* expected int64"),
        (lambda: flow.cross_entropy_rows(X, flow.tensor([0, 3])), ValueError, "target"),
        (lambda: flow.cross_entropy_rows(X.double(), flow.tensor([0, 3])), ValueError, "target"),
        (lambda: flow.cross_entropy_rows(X.double(), flow.tensor([0, -1])), ValueError, "target"),
        (lambda: flow.gelu(X, approximate="fast"), ValueError, "gelu: approximate is 'fast'"),
        (lambda: flow.dropout(X, 1.5), ValueError, "dropout_mask: p is 1.5"),
        (lambda: flow.Generator(-1), ValueError, "seed -1 is not an int in"),
    ],
)
def test_an_error_says_what_was_given_and_what_was_expected(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: flow.add(X), "add.x, y.: y is missing"),
        (lambda: flow.add(X, X, X), "add.x, y.: 3 arguments given"),
        (lambda: flow.add(X, X, beta=2), "beta is given twice or is none of its arguments"),
        (lambda: flow.sum(X, 0, dim=0), "dim is given twice"),
        (lambda: flow.softmax(X), "dim"),
        (lambda: flow.add(X, None), "add.*: y is None, expected a tensor"),
        (lambda: flow.matmul(X, 2.0), "matmul.*: y is a Python float, expected a tensor"),
        (lambda: flow.sum(2.0), "sum.*: x is a Python float"),
        (lambda: flow.add(2.0, 3.0), "add: no tensor among its arguments"),
        (lambda: flow.add(X, np.ones(3)), r"add: an argument is a numpy.ndarray; make it a tensor with flow.tensor"),
        (lambda: flow.add(X, [1.0]), r"make it a tensor with flow.tensor"),
        (lambda: flow.add(X, "a"), "add: an argument is a builtins.str; expected a tensor or a number"),
        (lambda: flow.reshape(X, shape=np.array([3, 2])), "reshape.*no number, string or tuple"),
    ],
)
def test_arguments_of_another_kind_are_a_type_error_that_names_the_op(call, said):
    with pytest.raises(TypeError, match=said):
        call()


def test_a_failed_call_leaves_no_entry_in_the_cache():
    before = dict(flow.matmul.cache)
    for _ in range(2):
        with pytest.raises(ValueError, match="matmul"):
            flow.matmul(X, X)
    assert flow.matmul.cache == before


def test_an_op_of_a_known_name_cannot_be_defined_again():
    with pytest.raises(ValueError, match="'add' is defined already"):
        flow.Op("add", lambda x, /: x, {})
    assert flow.OPS["add"] is flow.add


def test_a_short_dtype_name_counts_bits_as_specs_print_it_and_numpys_codes_are_refused():
    for dtype in DTYPES:
        spec = str(flow.zeros(1, dtype=dtype).spec)
        assert flow.zeros(1, dtype=spec.split("[")[0]).dtype is dtype
    for code in ("q", "f4", "<f4", "float", "double"):
        with pytest.raises(ValueError, match=f"dtype '{code}' is not one of"):
            flow.zeros(1, dtype=code)
