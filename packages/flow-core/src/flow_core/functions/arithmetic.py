"""Sums, differences and quotients with PyTorch's keywords: `alpha`, `rounding_mode`; reductions and softmax with `dtype`.

The ops themselves take none of these: a call that gives one is handed over to a function here.
"""

from flow_core.dtype import CATEGORIES, as_dtype, category
from flow_core.functions.complex import real
from flow_core.ops import binary, elementwise, nn, reduce, unary
from flow_core.spec import SCALAR_SPECS, result_dtype


def common_dtype(name, *args):
    """The dtype that tensors and numbers promote to."""
    for a in args:
        if not hasattr(a, "spec") and type(a) not in SCALAR_SPECS:
            raise TypeError(f"{name}: an argument is a {type(a).__name__}, expected a tensor or a number")
    return result_dtype([a.spec if hasattr(a, "spec") else SCALAR_SPECS[type(a)] for a in args])


def scaled(name, y, alpha, x):
    """alpha * y in the dtype that x and y promote to. TypeError where alpha is of a higher category than that."""
    dtype = common_dtype(name, x, y)
    if not isinstance(alpha, (bool, int, float, complex)):
        raise TypeError(f"{name}: alpha is {alpha!r}, expected a number")
    if category(type(alpha)) > category(dtype):
        raise TypeError(
            f"{name}: alpha is {alpha!r}, a {type(alpha).__name__}, beside {dtype}; give a number of its kind"
        )
    if alpha == 1:
        return y
    if not hasattr(y, "spec"):
        return alpha * y
    return elementwise.mul(y if y.dtype is dtype else elementwise.cast(y, dtype=dtype), alpha)


def add_scaled(input, other, *, alpha=1):
    """input + alpha * other."""
    return elementwise.add(input, scaled("add", other, alpha, input))


def sub_scaled(input, other, *, alpha=1):
    """input - alpha * other."""
    return elementwise.sub(input, scaled("sub", other, alpha, input))


def rsub(input, other, *, alpha=1):
    """other - alpha * input. TypeError for an input that is no tensor."""
    if not hasattr(input, "spec"):
        raise TypeError(f"rsub: input is {input!r}, expected a tensor")
    return elementwise.sub(other, scaled("rsub", input, alpha, other))


def divide(input, other, *, rounding_mode=None):
    """input / other; `rounding_mode` "trunc" rounds towards 0, "floor" down, and keeps integers, which 0 does not divide (ValueError)."""
    if rounding_mode is None:
        return elementwise.div(input, other)
    if rounding_mode == "floor":
        return binary.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise ValueError(f'div: rounding_mode is {rounding_mode!r}, expected None, "trunc" or "floor"')
    if CATEGORIES[common_dtype("div", input, other)] != 1:
        return unary.trunc(elementwise.div(input, other))
    down = binary.floor_divide(input, other)  # a unit too low where a negative quotient is not whole
    exact = elementwise.eq(elementwise.mul(down, other), input)
    low = binary.logical_and(elementwise.lt(down, 0), unary.logical_not(exact))
    return elementwise.add(down, low)


def true_divide(input, other):
    """input / other; integers give float32."""
    return elementwise.div(input, other)


def taken_in(x, dtype):
    """x in `dtype`; of complex numbers the real parts, if that is a real one."""
    dtype = as_dtype(dtype)
    if CATEGORIES[x.dtype] == 3 and CATEGORIES[dtype] < 3:
        x = real(x)
    return x if x.dtype is dtype else elementwise.cast(x, dtype=dtype)


def with_dtype(op):
    """The op, of its input in `dtype`."""

    def function(x, *args, dtype=None, **attrs):
        return op(x if dtype is None else taken_in(x, dtype), *args, **attrs)

    return function


def sum_in(x, dim=None, keepdim=False, *, dtype=None):
    """The sum over `dim` in `dtype`, integers too."""
    if dtype is None:
        return reduce.sum(x, dim=dim, keepdim=keepdim)
    return taken_in(reduce.sum(taken_in(x, dtype), dim=dim, keepdim=keepdim), dtype)


def like_input(name, g, output, input_dtype):
    """`input_dtype` as a dtype. TypeError unless g and output hold floats."""
    if any(CATEGORIES[t.dtype] != 2 for t in (g, output)):
        raise TypeError(f"{name}: {g.spec} and {output.spec}, expected floats")
    if g.shape != output.shape:
        raise ValueError(f"{name}: {g.spec} and {output.spec}, expected one shape")
    return as_dtype(input_dtype)


def softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax's input along `dim`, in `input_dtype`, from that of its output, and the output."""
    dtype = like_input("_softmax_backward_data", grad_output, output, input_dtype)
    weighted = elementwise.mul(grad_output, output)
    found = elementwise.sub(weighted, elementwise.mul(output, reduce.sum(weighted, dim=dim, keepdim=True)))
    return found if found.dtype is dtype else elementwise.cast(found, dtype=dtype)


def log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of log_softmax's input along `dim`, in `input_dtype`, from that of its output, and the output."""
    dtype = like_input("_log_softmax_backward_data", grad_output, output, input_dtype)
    total = reduce.sum(grad_output, dim=dim, keepdim=True)
    found = elementwise.sub(grad_output, elementwise.mul(elementwise.exp(output), total))
    return found if found.dtype is dtype else elementwise.cast(found, dtype=dtype)


elementwise.add.keywords["alpha"] = add_scaled
elementwise.sub.keywords["alpha"] = sub_scaled
elementwise.div.keywords["rounding_mode"] = divide
reduce.sum.keywords["dtype"] = sum_in
for op in (nn.softmax, nn.log_softmax, reduce.mean):
    op.keywords["dtype"] = with_dtype(op)

subtract, multiply = elementwise.sub, elementwise.mul
_softmax_backward_data, _log_softmax_backward_data = softmax_backward_data, log_softmax_backward_data

# The names that flow_core takes over, and those that tensors have as methods.
__all__ = "rsub divide true_divide subtract multiply _softmax_backward_data _log_softmax_backward_data".split()
METHODS = {name: globals()[name] for name in "divide true_divide subtract multiply".split()}
METHODS["__rdiv__"] = lambda self, other: elementwise.div(other, self)
