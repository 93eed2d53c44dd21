"""Transforms of functions under the names of torch.func: grad, grad_and_value, vjp, jvp, jacrev, hessian, vmap."""

from flow_autograd import transform
from flow_autograd.transform import jvp as jvp
from flow_autograd.transform import vjp as vjp
from flow_autograd.vmap import vmap as vmap

__all__ = ["grad", "grad_and_value", "hessian", "jacrev", "jvp", "vjp", "vmap"]


def grad(function, argnums=0):
    """The function whose value is the gradient of `function`, a function of one number, for the argument(s) `argnums`."""
    return lambda *args: grad_and_value(function, argnums)(*args)[0]


def grad_and_value(function, argnums=0):
    """The function whose value is (gradient, value) of `function` for the argument(s) `argnums`, an int or a tuple of them."""

    def both(*args):
        out, pull = vjp(at(function, argnums, args), *chosen(argnums, args))
        transform.require_number("grad", out)
        found = pull(transform.flow.ones_like(out))
        found = tuple(
            [
                transform.flow.zeros_like(x) if f is None else f
                for f, x in zip(found, chosen(argnums, args), strict=True)
            ]
        )
        return (found if isinstance(argnums, tuple) else found[0]), out

    return both


def jacrev(function, argnums=0):
    """The function whose value is the Jacobian of `function` for the argument(s) `argnums`."""

    def rows(*args):
        inputs = chosen(argnums, args)
        return transform.jacobian(at(function, argnums, args), inputs if isinstance(argnums, tuple) else inputs[0])

    return rows


def hessian(function, argnums=0):
    """The function whose value is the matrix of second derivatives of `function`, of one number, for the argument(s) `argnums`."""

    def second(*args):
        inputs = chosen(argnums, args)
        return transform.hessian(at(function, argnums, args), inputs if isinstance(argnums, tuple) else inputs[0])

    return second


def chosen(argnums, args):
    """The arguments that are differentiated, a tuple; ValueError for a number that none has."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ValueError(f"argnums {argnums}: the function is called with {len(args)} arguments")
    return tuple([args[n] for n in numbers])


def at(function, argnums, args):
    """The function of the chosen arguments alone, the others being as given."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)

    def call(*inputs):
        whole = list(args)
        for n, x in zip(numbers, inputs, strict=True):
            whole[n] = x
        return function(*whole)

    return call
