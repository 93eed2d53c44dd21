"""check_grads: derivatives against finite differences."""

import numpy as np

import flow_core as flow
from flow_autograd.backward import grad


def check_grads(function, *arrays, order=2, eps=1e-5, rtol=1e-6, seed=0):
    """Asserts that the gradients of `function` at float64 `arrays` agree with central differences, up to derivatives of `order`.

    `function` maps tensors to a tensor or a tuple of them; all are reduced to one number by fixed random weights. A central
    difference of step eps errs by O(eps^2) from curvature and O(1e-16 / eps) from rounding: about 1e-10 of the function's scale at
    the default, so rtol leaves four digits for large third derivatives.
    """
    rng = np.random.default_rng(seed)
    arrays = [np.array(a, np.float64) for a in arrays]

    def scalar(*tensors):
        out = function(*tensors)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        total = 0.0
        for i, o in enumerate(outs):
            weights = np.random.default_rng(seed + i + 1).uniform(0.5, 1.5, o.shape)
            total = total + (o * flow.from_numpy(np.asarray(weights))).sum()
        return total

    leaves = [flow.tensor(a, requires_grad=True) for a in arrays]
    value = scalar(*leaves)
    grads = [None] * len(leaves)  # what does not depend on the arrays has no gradient, and differences of 0
    if value.requires_grad:
        grads = grad(value, leaves, create_graph=order > 1, allow_unused=True)
    for i, a in enumerate(arrays):
        direction = rng.uniform(-1, 1, a.shape)

        def at(step, i=i, direction=direction):
            moved = [flow.tensor(b + step * direction if j == i else b) for j, b in enumerate(arrays)]
            return scalar(*moved).item()

        expected = (at(eps) - at(-eps)) / (2 * eps)
        found = 0.0 if grads[i] is None else float((grads[i].detach().numpy() * direction).sum())
        scale = max(abs(expected), abs(found), abs(at(0.0)), 1.0)
        if not abs(found - expected) <= rtol * scale:
            raise AssertionError(f"gradient of argument {i}: {found}, finite difference {expected}")
    if order > 1 and any(g is not None for g in grads):

        def gradients(*tensors):
            tensors = [t if t.requires_grad else t.detach().requires_grad_() for t in tensors]
            found = grad(scalar(*tensors), tensors, create_graph=True, allow_unused=True)
            return tuple([g for g in found if g is not None])

        check_grads(gradients, *arrays, order=order - 1, eps=eps, rtol=rtol * 10, seed=seed + 100)
