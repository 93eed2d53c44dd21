"""Elementwise ops: each element of the output comes from the elements of the (broadcast) inputs at its place."""

import numpy as np
from scipy import special

from flow_core.dtype import CATEGORIES, as_dtype, bfloat16, bool_, category, float32
from flow_core.op import Checked, Op, define
from flow_core.ops.complex import PARTS
from flow_core.spec import ScalarSpec, TensorSpec, broadcast_shapes, result_dtype

BOOL, INTEGER, FLOAT, COMPLEX = range(4)  # the categories of flow_core.dtype
HOLDS = ("bools", "integers", "floats", "complex numbers")


def elementwise(
    name, ufunc, doc, *, result=None, least=BOOL, linear=(), args="x y", quiet=False, refuses=(), numbers=(0, 1)
):
    """Makes the op `name` of a numpy ufunc.

    Inputs are cast to their promoted dtype, of category `least` at least (integers become float32 where it is FLOAT) and of none that
    the op `refuses`. The output has that dtype, or `result`, a dtype or a function of it. `numbers` are the arguments that may be
    Python numbers. With `quiet`, numpy's warnings about its results (division by zero, invalid values) stay silent.
    """

    def compute_dtype(specs):
        dtype = result_dtype(specs)
        if CATEGORIES[dtype] in refuses:
            given = " and ".join(map(str, specs))
            raise TypeError(f"{name}: {given} hold {HOLDS[CATEGORIES[dtype]]}, which {name} is not defined for")
        return dtype if CATEGORIES[dtype] >= least else float32

    def infer_specs(*specs):
        shape = broadcast_shapes(name, *[spec.shape for spec in specs])
        device = one_device(name, specs)
        dtype = compute_dtype(specs)
        return TensorSpec(shape, result(dtype) if callable(result) else result or dtype, device)

    def kernel(*specs):
        shape = broadcast_shapes(name, *[spec.shape for spec in specs])
        return bind_ufunc(ufunc, compute_dtype(specs), specs, shape, quiet)

    if args == "x":

        def infer(x, /):
            return infer_specs(x)
    else:

        def infer(x, y, /):
            return infer_specs(x, y)

    infer.__doc__ = doc
    return Op(name, infer, {"cpu": kernel}, linear, numbers=numbers, elementwise=True)


def one_device(name, specs):
    """The device of the tensors among `specs`; TypeError if there is no tensor, ValueError if they live on several."""
    devices = {spec.device for spec in specs if type(spec) is TensorSpec}
    if len(devices) != 1:
        given = ", ".join(map(str, specs))
        if not devices:
            raise TypeError(f"{name}: no tensor among its arguments ({given})")
        raise ValueError(f"{name}: tensors live on several devices ({', '.join(map(str, devices))}); move them to one")
    return devices.pop()


def bind_ufunc(ufunc, dtype, specs, shape, quiet=False):
    """The function that runs `ufunc` on arrays (and Python numbers) of `specs` in `dtype` and returns an array of `shape`."""

    def keeps(spec):  # numpy itself casts a Python number to the array's dtype, but not to bfloat16
        if type(spec) is ScalarSpec:
            return (
                dtype is not bfloat16 and category(spec.dtype) <= category(dtype) and shape != () and dtype.kind != "u"
            )
        return spec.dtype is dtype

    def run(*arrays):
        cast = [a if keep else as_array(a, dtype) for a, keep in zip(arrays, kept, strict=True)]
        if not quiet:
            return np.asarray(ufunc(*cast))
        with np.errstate(all="ignore"):
            return np.asarray(ufunc(*cast))

    kept = [keeps(spec) for spec in specs]
    return ufunc if all(kept) and shape != () and not quiet else run


def as_array(a, dtype):
    """An array or a Python number in dtype; a negative number wraps around in unsigned types, as in PyTorch."""
    if type(a) is int and a < 0 and dtype.kind == "u":
        a = np.int64(a)
    return np.asarray(a).astype(dtype) if type(a) is np.int64 else np.asarray(a, dtype)


def power(x, y):
    """numpy's power, but for small whole powers of a float, by multiplication, and for integers to negative powers: to a number it is a
    ValueError, to a tensor the true value rounded towards 0, as in PyTorch."""
    if isinstance(y, (int, float)) and x.dtype.kind == "f":
        if y == 2:
            return x * x
        if y == 3:
            return x * x * x
    elif getattr(y, "dtype", None) is not None and y.dtype.kind == "i" and (y < 0).any():
        inverse = np.where(x == 1, 1, np.where(x == -1, 1 - 2 * (y & 1), 0))
        return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(y.dtype)
    return np.power(x, y)


def erf(x):
    """The error function in the array's own dtype."""
    return special.erf(x) if x.dtype.char in "fd" else special.erf(x.astype(np.float32)).astype(x.dtype)


def logistic(x):
    """1 / (1 + exp(-x)) in the array's own dtype, without overflow."""
    return special.expit(x) if x.dtype.char in "fd" else special.expit(x.astype(np.float32)).astype(x.dtype)


def rsqrt(x):
    """1 / sqrt(x), rounded twice."""
    return np.reciprocal(np.sqrt(x))


BINARY = "Shapes broadcast, dtypes promote; either argument may be a Python number. ValueError if the shapes do not broadcast."
COMPARE = "Returns bools. Shapes broadcast, dtypes promote; y may be a Python number. ValueError if the shapes do not broadcast."
UNARY = "Returns a tensor of x's shape; integers give float32."

add = elementwise("add", np.add, f"x + y. {BINARY}", linear=((0, 1),))
sub = elementwise("sub", np.subtract, f"x - y. TypeError for bools. {BINARY}", linear=((0, 1),), refuses=(BOOL,))
mul = elementwise("mul", np.multiply, f"x * y. {BINARY}", linear=(0, 1))
div = elementwise("div", np.divide, f"x / y; integers give float32. {BINARY}", least=FLOAT, linear=(0,), quiet=True)
pow = elementwise("pow", power, f"x to the power y. TypeError for bools. {BINARY}", quiet=True, refuses=(BOOL,))
maximum = elementwise(
    "maximum", np.maximum, f"The larger of x and y; NaN if either is. {BINARY}", quiet=True, refuses=(COMPLEX,)
)
minimum = elementwise(
    "minimum", np.minimum, f"The smaller of x and y; NaN if either is. {BINARY}", quiet=True, refuses=(COMPLEX,)
)

eq = elementwise("eq", np.equal, f"x == y. {COMPARE}", result=bool_, numbers=(1,))
ne = elementwise("ne", np.not_equal, f"x != y. {COMPARE}", result=bool_, numbers=(1,))
lt = elementwise("lt", np.less, f"x < y. {COMPARE}", result=bool_, quiet=True, refuses=(COMPLEX,), numbers=(1,))
le = elementwise("le", np.less_equal, f"x <= y. {COMPARE}", result=bool_, quiet=True, refuses=(COMPLEX,), numbers=(1,))
gt = elementwise("gt", np.greater, f"x > y. {COMPARE}", result=bool_, quiet=True, refuses=(COMPLEX,), numbers=(1,))
ge = elementwise(
    "ge", np.greater_equal, f"x >= y. {COMPARE}", result=bool_, quiet=True, refuses=(COMPLEX,), numbers=(1,)
)

neg = elementwise(
    "neg", np.negative, "-x, of x's shape and dtype; TypeError for bools.", linear=(0,), args="x", refuses=(BOOL,)
)
abs = elementwise(
    "abs",
    np.abs,
    "|x|, of x's shape and dtype; of complex numbers float32 or float64.",
    result=lambda dtype: PARTS.get(dtype, dtype),
    args="x",
)
exp = elementwise("exp", np.exp, f"e to the power x. {UNARY}", least=FLOAT, args="x", quiet=True)
log = elementwise("log", np.log, f"The natural logarithm; NaN below 0. {UNARY}", least=FLOAT, args="x", quiet=True)
sqrt = elementwise("sqrt", np.sqrt, f"The square root; NaN below 0. {UNARY}", least=FLOAT, args="x", quiet=True)
rsqrt = elementwise("rsqrt", rsqrt, f"1 / sqrt(x). {UNARY}", least=FLOAT, args="x", quiet=True)
tanh = elementwise("tanh", np.tanh, f"The hyperbolic tangent. {UNARY}", least=FLOAT, args="x")
sigmoid = elementwise(
    "sigmoid", logistic, f"1 / (1 + exp(-x)). {UNARY}", least=FLOAT, args="x", quiet=True, refuses=(COMPLEX,)
)
erf = elementwise(
    "erf",
    erf,
    f"The error function, 2 / sqrt(pi) times the integral of exp(-t^2) over [0, x]. {UNARY}",
    least=FLOAT,
    args="x",
    refuses=(COMPLEX,),
)


def cast_kernel(x, /, *, dtype):
    def run(a):
        with np.errstate(all="ignore"):
            return a.astype(dtype, order="C")

    return run


@define(cast_kernel, linear=(0,), elementwise=True)
def cast(x, /, *, dtype):
    """x with its elements converted to `dtype`: floats to integers by truncation, numbers to bool by x != 0. Always a copy, contiguous."""
    dtype = as_dtype(dtype)
    if CATEGORIES[x.dtype] == 3 and CATEGORIES[dtype] < 3:
        raise TypeError(f"cast: {x} to {dtype} would drop the imaginary part; take the real part first")
    return Checked(x.with_dtype(dtype), {"dtype": dtype})


def where_kernel(condition, x, y, /):
    dtype = result_dtype((x, y))
    return lambda c, a, b: np.where(c, np.asarray(a, dtype), np.asarray(b, dtype))


@define(where_kernel, linear=((1, 2),), numbers=(0, 1, 2), elementwise=True)
def where(condition, x, y, /):
    """x where `condition` (bools) holds, y elsewhere. The three shapes broadcast, x and y promote and may be Python numbers."""
    if condition.dtype not in (bool_, bool):
        raise TypeError(f"where: condition is {condition}, expected bools")
    shape = broadcast_shapes("where", condition.shape, x.shape, y.shape)
    return TensorSpec(shape, result_dtype((x, y)), one_device("where", (condition, x, y)))
