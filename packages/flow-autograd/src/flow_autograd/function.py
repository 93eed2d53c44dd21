"""Function: an op of the user's own, with its derivative, in plain Python."""

import flow_core as flow
from flow_autograd.mode import is_grad_enabled, no_grad, tell
from flow_autograd.node import Node, Part, attach_to, next_number
from flow_autograd.vjp import Rule
from flow_core.writes import clock


class Context:
    """What a Function's forward leaves for its backward: attributes of any name, and tensors saved with save_for_backward."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self.to_save = ()
        self.saved_tensors = ()
        self.not_differentiable = ()

    def save_for_backward(self, *tensors):
        """Keeps arguments, results, or other tensors for backward, which finds them in `saved_tensors`."""
        for t in tensors:
            if t is not None and not hasattr(t, "spec"):
                raise TypeError(
                    f"save_for_backward: a {type(t).__name__} is no tensor; set an attribute of ctx instead"
                )
        self.to_save = tensors

    def mark_non_differentiable(self, *tensors):
        """States that these results have no gradient."""
        self.not_differentiable = tensors


class Function:
    """Base of ops with a derivative of their own.

        class Exp(Function):
            @staticmethod
            def forward(ctx, x):
                out = flow.exp(x)
                ctx.save_for_backward(out)
                return out

            @staticmethod
            def backward(ctx, g):
                (out,) = ctx.saved_tensors
                return g * out

        y = Exp.apply(x)

    forward is not recorded. backward gets a gradient for each result (zeros for an unused one) and returns one for each argument of
    forward, None where there is none; it is recorded under create_graph, so one that is written in ops can be differentiated again.
    """

    @staticmethod
    def forward(ctx, *args):
        """The result, a tensor or a tuple of them, of the arguments."""
        raise NotImplementedError("a Function defines forward(ctx, *args)")

    @staticmethod
    def backward(ctx, *grads):
        """The gradients of forward's arguments from those of its results."""
        raise NotImplementedError("a Function defines backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args):
        """forward(*args), recorded with this class's backward."""
        needs = tuple([bool(getattr(a, "requires_grad", False)) for a in args])
        ctx = Context(needs)
        with no_grad():
            found = cls.forward(ctx, *args)
        outs = found if isinstance(found, tuple) else (found,)
        for out in outs:
            if not hasattr(out, "spec"):
                raise TypeError(
                    f"{cls.__name__}.forward returned a {type(out).__name__}, expected a tensor or a tuple of them"
                )
        # An argument that comes back must not take this node for its own origin.
        fresh = tuple([out.detach() if out.requires_grad or any(out is a for a in args) else out for out in outs])
        if is_grad_enabled() and any(needs):
            cls.record(ctx, args, outs, fresh)
        return fresh if isinstance(found, tuple) else fresh[0]

    @classmethod
    def record(cls, ctx, args, outs, fresh):
        """Makes the node of a call."""
        differentiable = [
            out.dtype.kind not in "biu" and not any(out is t for t in ctx.not_differentiable) for out in outs
        ]
        if not any(differentiable):
            return
        # Saved results are kept as the node's outputs, so that they can be reached from it when backward is differentiated.
        origins = [next((i for i, out in enumerate(outs) if out is t), None) for t in ctx.to_save]
        keeps_out = any(i is not None for i in origins)
        specs = [out.spec for out in outs]

        def joint(g, kept, *saved):
            others = iter(saved)
            ctx.saved_tensors = tuple([next(others) if i is None else kept[i] for i in origins])
            gs = [
                flow.zeros(s.shape, dtype=s.dtype) if part is None else part for part, s in zip(g, specs, strict=True)
            ]
            try:
                return cls.checked(cls.backward(ctx, *gs), args)
            finally:
                ctx.saved_tensors = ()

        node = Node()
        node.rule = Rule(cls.__name__, (), joint, (), keeps_out)
        node.attrs, node.time, node.number = {}, clock.time, next_number()
        node.saved = [t for t, i in zip(ctx.to_save, origins, strict=True) if i is None]
        node.out = tuple([t.detach() if keeps_out else t.spec for t in fresh])
        node.edges = [(a.grad_fn or a) if need else None for a, need in zip(args, ctx.needs_input_grad, strict=True)]
        args = [getattr(a, "spec", None) for a in args]
        ctx.to_save = ctx.not_differentiable = ()
        for i, (t, has) in enumerate(zip(fresh, differentiable, strict=True)):
            if has:
                attach_to(t, Part(node, i))
        tell(node)

    @classmethod
    def checked(cls, parts, specs):
        """What backward returned, a gradient for each argument; errors if it is none."""
        parts = parts if isinstance(parts, (tuple, list)) else (parts,)
        if len(parts) != len(specs):
            raise ValueError(
                f"{cls.__name__}.backward returned {len(parts)} gradients for {len(specs)} arguments of forward"
            )
        for i, (part, spec) in enumerate(zip(parts, specs, strict=True)):
            if part is None or spec is None:
                continue
            if not hasattr(part, "spec"):
                raise TypeError(
                    f"{cls.__name__}.backward returned a {type(part).__name__} for argument {i}, expected a tensor"
                )
            if part.shape != spec.shape or part.dtype is not spec.dtype:
                raise ValueError(f"{cls.__name__}.backward returned {part.spec} for argument {i}, which is {spec}")
        return parts
