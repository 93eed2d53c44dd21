"""GlobalTensor: one logical tensor over the ranks of a placement, of which each rank holds its shard."""

import numpy as np

import flow_core as flow
from flow_autograd import attach as attach_backward
from flow_core.dtype import is_floating
from flow_sbp.global_tensor.dispatch import box_shard, run
from flow_sbp.layout import Layout

new = object.__new__


class GlobalTensor:
    """A tensor laid out over ranks; make one with flow_sbp.global_tensor.distribute, from_shards, zeros and the like.

    `spec` is the logical tensor's, `layout` says who holds what, `shard` is this rank's part (a plain tensor that never requires
    grad; None on a rank outside the placement). Ops on it give the logical values, moving data where they must.
    """

    __slots__ = (
        "__weakref__",
        "_grad",
        "_hooks",
        "comm",
        "grad_fn",
        "is_parameter",
        "layout",
        "requires_grad",
        "shard",
        "spec",
    )
    __array_ufunc__ = None

    def __init__(self):
        raise TypeError(
            "a GlobalTensor is made by distribute(value, placement, sbp), from_shards(shard, placement, sbp) and the like"
        )

    def __flow_op__(self, op, tensors, attrs):
        return run(op, tensors, attrs, make)

    @property
    def shape(self):
        """The sizes of the logical tensor."""
        return self.spec.shape

    @property
    def dtype(self):
        """The type of the elements."""
        return self.spec.dtype

    @property
    def device(self):
        """Where the shards live."""
        return self.spec.device

    @property
    def ndim(self):
        """The number of dims."""
        return len(self.spec.shape)

    @property
    def placement(self):
        """The mesh of ranks."""
        return self.layout.placement

    @property
    def sbp(self):
        """One of Split, Broadcast, Partial for each axis of the mesh."""
        return self.layout.sbp

    @property
    def version(self):
        """How often the memory of this rank's shard has been written in place."""
        return 0 if self.shard is None else self.shard.version

    def last_write(self):
        """When the memory of this rank's shard was written last; 0 for never."""
        return 0 if self.shard is None else self.shard.last_write()

    @property
    def base(self):
        """The memory that this rank's shard lies in, by which a backward pass knows gradients that share one; None if it holds none."""
        return None if self.shard is None else self.shard.data

    @property
    def grad(self):
        """The gradient that backward passes have added up here, a global tensor, or None."""
        return getattr(self, "_grad", None)

    @grad.setter
    def grad(self, value):
        if not (value is None or isinstance(value, GlobalTensor)):
            raise TypeError(
                f"grad of {self.layout} is set to a {type(value).__name__}: it must be a global tensor, as distribute(...) makes one"
            )
        if value is not None and value.spec is not self.spec:
            raise ValueError(f"grad of {self.spec} is set to {value.spec}: shape and dtype must be the tensor's")
        # A grad may be written, as when it is clipped; what expand made cannot.
        readonly = value is not None and value.shard is not None and not value.shard.data.flags.writeable
        self._grad = value.clone() if readonly else value

    @property
    def is_leaf(self):
        """True if no recorded op produced it."""
        return self.grad_fn is None

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad in place; returns the tensor."""
        if requires_grad and not is_floating(self.dtype):
            raise TypeError(f"a tensor of {self.dtype} cannot require grad: cast it to a float type first")
        if not requires_grad and not self.is_leaf:
            raise ValueError("requires_grad can be taken from leaves only: use x.detach()")
        self.requires_grad = requires_grad
        return self

    def detach(self):
        """A global tensor of the same shards that requires no grad."""
        return make(self.shard, self.spec, self.layout, self.comm)

    def to_global(self, *, placement=None, sbp=None, layout=None):
        """The same value laid out otherwise: on another placement, by other sbp, or by a whole Layout. Gradients flow back."""
        if layout is None:
            layout = Layout(
                self.shape, self.layout.dtype, placement or self.placement, self.sbp if sbp is None else sbp
            )
        return flow.OPS["box"](self, layout=layout)

    def to_local(self):
        """This rank's shard, a plain tensor that shares memory; None outside the placement. ValueError if it requires grad."""
        if self.requires_grad:
            raise ValueError(
                "to_local() of a tensor that requires grad would lose its gradient: call x.detach().to_local()"
            )
        return self.shard

    def full(self):
        """The logical value as a plain tensor on every rank of the placement, all of which must call this; None on other ranks."""
        whole = Layout(self.shape, self.layout.dtype, self.placement, ["B"] * len(self.placement.axes))
        return box_shard(self, whole, "full")

    def numpy(self):
        """The logical value as a numpy array."""
        if self.requires_grad:
            raise ValueError("numpy() of a tensor that requires grad would lose its gradient: call x.detach().numpy()")
        return self.here("numpy").numpy()

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def item(self):
        """The one element as a Python number, on every rank; ValueError for any other number of elements."""
        if self.spec.size != 1:
            raise ValueError(f"item() of {self.layout}: it needs exactly one element, index first")
        return self.here("item").item()

    def here(self, name):
        """The logical value, for a method that needs it on this rank; ValueError outside the placement."""
        value = self.full()
        if value is None:
            raise ValueError(
                f"{name}: rank {self.comm.rank} is not in {self.placement!r} and holds nothing of {self.layout}; "
                "move it here with to_global(placement=...), which its ranks call too"
            )
        return value

    def numel(self):
        """The number of elements of the logical tensor."""
        return self.spec.size

    def is_contiguous(self):
        """True: a global tensor shows no strides."""
        return True

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __repr__(self):
        held = "nothing" if self.shard is None else repr(self.shard)
        return f"global({self.layout} on {self.placement!r}; rank {self.comm.rank} holds {held})"


def make(shard, spec, layout, comm):
    """A GlobalTensor of parts that fit together by construction; requires no grad."""
    t = new(GlobalTensor)
    t.shard = shard
    t.spec = spec
    t.layout = layout
    t.comm = comm
    t.requires_grad = False
    t.grad_fn = None
    return t


flow.attach(GlobalTensor)
attach_backward(GlobalTensor)
