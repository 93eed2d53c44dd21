"""`x.name_(...)` writes what `x.name(...)` gives into x and returns x, or refuses and leaves x alone."""

import numpy as np
import pytest

import flow_core as flow
from flow_core.functions.overwriting import NAMES

ALONE = """abs absolute acos arccos acosh arccosh asin arcsin asinh arcsinh atan arctan atanh arctanh ceil cos cosh deg2rad digamma erf
erfc erfinv exp exp2 expm1 fix floor frac i0 lgamma log log10 log1p log2 logical_not logit nan_to_num neg negative rad2deg reciprocal relu
round rsqrt sgn sigmoid sign sin sinc sinh sqrt square tan tanh trunc""".split()
X = np.array([0.25, 0.5, 0.75])
Y = flow.tensor([0.5, 1.5, 0.25], dtype=flow.float64)
INTS = flow.tensor([3, 1, 2])
ARGUMENTS = {
    **dict.fromkeys(ALONE, ()),
    **dict.fromkeys(
        """add sub subtract mul multiply div divide true_divide floor_divide fmod remainder pow float_power atan2 arctan2 copysign hypot
        heaviside logical_and logical_or logical_xor eq ne lt le gt ge not_equal greater greater_equal less less_equal nextafter
        igamma igammac xlogy clamp clamp_min clamp_max clip ldexp""".split(),
        (Y,),
    ),
    **{"lerp": (Y, 0.5), "addcmul": (Y, Y), "addcdiv": (Y, Y), "cumsum": (0,), "cumprod": (0,), "polygamma": (1,)},
    "mvlgamma": (1,),
}
WHOLE = dict.fromkeys(
    "gcd lcm bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split(), (INTS,)
)
WHOLE["bitwise_not"] = ()


@pytest.mark.parametrize("name", NAMES)
def test_a_method_in_place_gives_what_the_method_gives(name):
    if name == "renorm":
        x, args = flow.from_numpy(X.reshape(1, 3).copy()), (2, 1, 0.4)
    elif name in WHOLE:
        x, args = flow.tensor([6, 4, 9]), WHOLE[name]
    else:
        x, args = flow.from_numpy(X + 1.5 if name == "acosh" or name == "arccosh" else X.copy()), ARGUMENTS[name]
    expected = getattr(x, name)(*args)
    memory, version = x.data, x.version
    assert getattr(x, f"{name}_")(*args) is x
    assert x.data is memory
    assert x.version == version + 1
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_views_are_written_through():
    x = flow.zeros(2, 3)
    x[0].add_(1).mul_(2)
    x[:, 1].copy_(flow.tensor([7.0, 8.0])).neg_()
    assert x.tolist() == [[2, -7, 2], [0, -8, 0]]


def test_keywords_go_through():
    x = flow.tensor([7.0, -7.0])
    assert x.add_(1, alpha=2).tolist() == [9, -5]
    assert x.div_(2, rounding_mode="trunc").tolist() == [4, -2]
    assert x.clamp_(max=1).tolist() == [1, -2]


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (
            lambda x: x.add_(flow.ones(2, 3, dtype=flow.int64)),
            ValueError,
            r"add_: the result is i64\[2, 3\], which does not fit in i64\[3\]",
        ),
        (lambda x: x.add_(0.5), TypeError, r"add_: the result is f32\[3\], which cannot be stored in i64\[3\]"),
        (lambda x: x.sqrt_(), TypeError, "sqrt_: the result is f32"),
        (lambda x: x.to(flow.bool).add_(1), TypeError, "add_: the result is i64.* bool"),
        (lambda x: x.div_(2), TypeError, "div_: the result is f32"),
    ],
)
def test_a_result_that_does_not_fit_is_refused(call, error, said):
    x = flow.tensor([1, 2, 3])
    with pytest.raises(error, match=said):
        call(x)
    assert (x.tolist(), x.version) == ([1, 2, 3], 0)


def test_a_narrower_result_of_the_category_is_cast():
    x = flow.ones(2, dtype=flow.int8).add_(flow.tensor([1, 2]))
    assert (x.dtype, x.tolist()) == (flow.int8, [2, 3])
