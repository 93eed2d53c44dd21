"""How distributed tensor libraries go wrong, case by case: the rules of ops, and indexing (c)."""

from itertools import product

import numpy as np
import pytest

import flow_core as flow
from flow_sbp import Counting, Layout, Placement, spmd
from flow_sbp.global_tensor import distribute, explicit, global_tensor, set_comm
from flow_sbp.shards import part_of

X3, X4 = (Placement(range(n), "x") for n in (3, 4))
MESH = Placement([[0, 1], [2, 3]], ("dp", "tp"))
RNG = np.random.default_rng(0)
VALUE = RNG.normal(size=(7, 5))


def on_ranks(fn, num_ranks=4):
    """[fn(comm) of each rank], with a counting communicator set."""

    def run(comm):
        comm = Counting(comm)
        set_comm(comm)
        return fn(comm)

    return spmd(num_ranks, run)


def check(fn, expected, num_ranks=4, rtol=1e-9):
    """fn(comm), on every rank, is `expected`, a list of arrays."""
    for found in on_ranks(fn, num_ranks):
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol, rtol)


@pytest.mark.parametrize("one", ["B", "S(0)", "S(1)", "P"])
def test_c1_argmax_global_index(one):
    value = np.array([[3.0, 1, 3, 0], [0, 5, 5, 5], [3, 5, 0, 0], [0, 0, 0, 5], [-1, -1, -1, -1]])

    def run(comm):
        x = distribute(value, X4, one)
        found = [x.argmax(dim) for dim in (0, 1, -1, None)]
        return [x.full().numpy() for x in (*found, x.argmax(1, True), x.amax(dim=0), x.amax())]

    found = [value.argmax(axis) for axis in (0, 1, -1, None)]
    check(run, [*found, value.argmax(1, keepdims=True), value.max(axis=0), value.max()])


def test_c2_a_slice_is_not_written_and_says_so():
    def run(comm):
        with pytest.raises(TypeError, match="does not support item assignment"):
            distribute(VALUE, X4, "S(0)")[1:3] = 0

    on_ranks(run)


@pytest.mark.parametrize("one", ["B", "S(0)", "S(1)", "P"])
@pytest.mark.parametrize("ids_one", ["B", "S(0)", "P"])
def test_c3_put_rows(one, ids_one):
    ids = np.array([4, 0, 4, 9, 2, 2, 4])
    expected = np.zeros((10, 5))
    np.add.at(expected, ids, VALUE)

    def run(comm):
        rows = flow.add_rows(distribute(VALUE, X4, one), distribute(ids, X4, ids_one), num_rows=10)
        return [rows.full().numpy()]

    check(run, [expected])


def factorings(n, most=3):
    """All shapes of n elements of up to `most` dims above 1."""
    if most == 1:
        return [(n,)]
    return [(n,)] + [(d, *rest) for d in range(2, n) if n % d == 0 for rest in factorings(n // d, most - 1)]


@pytest.mark.parametrize("n", [12, 48, 60])
def test_c4_reshape_grid(n):
    value, shapes = np.arange(float(n)), factorings(n, 3 if n == 12 else 2)

    def run(comm):
        for old, new in product(shapes, repeat=2):
            for one in ("B", "P", *[f"S({d})" for d in range(len(old))]):
                x = distribute(value.reshape(old), X4, one)
                got = x.reshape(new).full().numpy()
                assert np.array_equal(got, value.reshape(new)), (old, new, one)
        return []

    check(run, [])


@pytest.mark.parametrize("one", ["S(0)", "S(1)"])
def test_c6_linear3d_seq_no_comm(one):
    x, w, b, g = RNG.normal(size=(3, 5, 6)), RNG.normal(size=(4, 6)), RNG.normal(size=4), RNG.normal(size=(3, 5, 4))
    local = [flow.tensor(a, requires_grad=True) for a in (x, w, b)]
    expected = flow.linear(*local)
    expected.backward(flow.tensor(g))

    def run(comm):
        args = [distribute(a, X4, o).requires_grad_() for a, o in ((x, one), (w, "B"), (b, "B"))]
        with explicit():
            out = flow.linear(*args)
            out.backward(distribute(g, X4, one))
        assert comm.bytes_sent == 0
        assert [str(t.layout.sbp[0]) for t in (out, *[t.grad for t in args])] == [one, one, "P", "P"]
        return [t.detach().full().numpy() for t in (out, *[t.grad for t in args])]

    check(run, [expected.detach().numpy(), *[t.grad.numpy() for t in local]])


def test_c10_two_vocab_embeddings():
    ids = np.array([[6, 0, 3], [3, 3, 5]])
    tables = RNG.normal(size=(7, 4)), RNG.normal(size=(7, 2))
    local = [flow.tensor(t, requires_grad=True) for t in tables]
    for t, scale in ((local[0], 1), (local[1], 2), (local[0], 3)):
        (flow.take_rows(flow.tensor(ids), t) * scale).sum().backward()

    def run(comm):
        made = [distribute(t, X3, "S(0)").requires_grad_() for t in tables]
        which = distribute(ids, X3, "S(0)")
        outs = [flow.take_rows(which, made[i]) for i in (0, 1, 0)]
        for out, scale in reversed(list(zip(outs, (1, 2, 3), strict=True))):
            (out * scale).sum().backward()
        return [*[o.detach().full().numpy() for o in outs], *[t.grad.full().numpy() for t in made]]

    check(run, [tables[0][ids], tables[1][ids], tables[0][ids], *[t.grad.numpy() for t in local]], 3)


def test_c12_error_text():
    def run(comm):
        x, y = distribute(VALUE, MESH, "S(0), B"), distribute(VALUE, MESH, "B, S(1)")
        with pytest.raises(ValueError, match=r"matmul: f64\[7, 5\] and f64\[7, 5\] do not fit: .* are 5 and 7"):
            x @ y
        p = distribute(VALUE, MESH, "P, B")
        says = r"mul: argument \d must move from f64\[7, 5\] P\(sum\)@dp to .* bytes\); .* say so: x.to_global\(sbp="
        with explicit(), pytest.raises(ValueError, match=says):
            p * p

    on_ranks(run)


def test_c14_chunk_sharded_dim():
    value = np.arange(48.0).reshape(24, 2)

    def run(comm):
        x = distribute(value, X4, "S(0)")
        return [piece.full().numpy() for piece in (*x.chunk(12), *x.split(5), x[3:20:4], x[-1], x[::-1])]

    pieces = [value[i : i + 2] for i in range(0, 24, 2)], [value[i : i + 5] for i in range(0, 24, 5)]
    check(run, [*pieces[0], *pieces[1], value[3:20:4], value[-1], value[::-1]])


def test_c15_embedding_grad_2d():
    ids, table = np.array([[1, 4, 1, 0], [4, 4, 2, 1]]), RNG.normal(size=(5, 3))
    expected = np.zeros((5, 3))
    np.add.at(expected, ids, np.ones((2, 4, 3)))

    def run(comm):
        w = distribute(table, MESH, "B, B").requires_grad_()
        with explicit():
            flow.take_rows(distribute(ids, MESH, "S(0), S(1)"), w).sum().backward()
        assert str(w.grad.layout) == "f64[5, 3] P(sum)@(dp,tp)"
        return [w.grad.full().numpy()]

    check(run, [expected])


@pytest.mark.parametrize("one", ["B", "S(0)", "S(1)", "P"])
def test_c16_fancy_order(one):
    def run(comm):
        x, ids = distribute(VALUE, X4, one), distribute(np.array([6, 0, 3, 3, 6]), X4, "S(0)")
        return [x[ids].full().numpy()]

    check(run, [VALUE[[6, 0, 3, 3, 6]]])


AXIS_OPS = {
    **{name: lambda x, d, name=name: getattr(flow, name)(x, dim=d) for name in "sum mean amax amin argmax".split()},
    **{name: lambda x, d, name=name: getattr(flow, name)(x, dim=d) for name in "softmax log_softmax".split()},
    **{name: lambda x, d, name=name: getattr(flow, name)(x > 0, dim=d) for name in "any all".split()},
    "sum of two": lambda x, d: x.unsqueeze(0).sum(dim=(d + (d >= 0), 0)),
    "cat": lambda x, d: flow.cat([x, x], dim=d),
    "split": lambda x, d: x.split([1, x.shape[d] - 1], dim=d)[1],
    "chunk": lambda x, d: x.chunk(2, dim=d)[0],
    "unbind": lambda x, d: flow.unbind(x, dim=d)[-1],
    "transpose": lambda x, d: x.transpose(d, 1),
    "flatten": lambda x, d: x.flatten(0, d),
    "keepdim": lambda x, d: x.sum(dim=d, keepdim=True),
}


@pytest.mark.parametrize("name", AXIS_OPS)
def test_c17_negative_axis(name):
    value = RNG.normal(size=(5, 3, 4))

    def run(comm):
        found = []
        for one, dim in product(("S(0)", "S(1)", "S(2)", "P"), range(3)):
            x = distribute(value, X4, one)
            front, back = AXIS_OPS[name](x, dim), AXIS_OPS[name](x, dim - 3)
            assert front.layout == back.layout
            found += [front.full().numpy(), back.full().numpy()]
        return found

    plain = [AXIS_OPS[name](flow.tensor(value), dim).numpy() for dim in range(3)]
    check(run, [a for a in plain * 4 for _ in range(2)])


def test_c18_reduce_renumber():
    value = RNG.normal(size=(3, 4, 5))

    def run(comm):
        for split, keepdim in product(range(3), (False, True)):
            for dim in (0, 1, 2, (0, 1), (0, 2), (1, 2), None):
                x = distribute(value, X4, f"S({split})")
                with explicit():
                    y = x.sum(dim=dim, keepdim=keepdim)
                dims = (0, 1, 2) if dim is None else dim if isinstance(dim, tuple) else (dim,)
                gone = 0 if keepdim else sum(d < split for d in dims)
                expected = "P" if split in dims else f"S({split - gone})"
                assert y.layout.sbp[0] == Layout(y.shape, "f64", X4, expected).sbp[0]
                np.testing.assert_allclose(y.full().numpy(), value.sum(axis=dims, keepdims=keepdim), 1e-12)

    on_ranks(run)


@pytest.mark.parametrize(("left", "right"), list(product(["S(0), B", "B, S(1)", "S(1), S(0)", "P, B"], repeat=2)))
def test_c18_operands_that_are_split_differently_meet(left, right):
    def run(comm):
        x, y = distribute(VALUE, MESH, left), distribute(VALUE[::-1].copy(), MESH, right)
        return [(x + y).full().numpy(), (x * y).full().numpy(), flow.maximum(x, y).full().numpy()]

    flipped = VALUE[::-1]
    check(run, [VALUE + flipped, VALUE * flipped, np.maximum(VALUE, flipped)])


@pytest.mark.parametrize("one", ["B", "S(0)", "S(1)", "P"])
def test_c19_stack_grad_specs(one):
    def run(comm):
        x, y = (distribute(v, X4, one).requires_grad_() for v in (VALUE, VALUE + 1))
        flow.stack([x, y * 2], dim=1).backward(distribute(np.stack([VALUE, VALUE + 2], 1), X4, "B"))
        return [x.grad.full().numpy(), y.grad.full().numpy()]

    check(run, [VALUE, 2 * VALUE + 4])


@pytest.mark.parametrize("one", ["B, B", "S(0), S(1)", "S(0), S(0)", "P, S(0)", "P, P"])
def test_c20_like_keeps_spec(one):
    src = Layout((7, 5), "f64", MESH, one)
    if one == "S(0), S(0)":
        src = Layout((7, 5), "f64", MESH, one, order={0: ("tp", "dp")}, sizes={0: (0, 4, 1, 2)})

    def run(comm):
        x = global_tensor(flow.from_numpy(part_of(VALUE, src, comm.rank)), src, comm)
        with explicit():
            made = [flow.zeros_like(x), flow.ones_like(x), flow.full_like(x, 2.5)]
        assert comm.bytes_sent == 0
        for y in made:
            assert (y.layout.splits, y.layout.sizes, y.layout.partials) == (src.splits, src.sizes, ())
        return [y.full().numpy() for y in made]

    check(run, [np.full((7, 5), v) for v in (0, 1, 2.5)])
