"""How distributed tensor libraries go wrong, case by case: ragged parts (a), partial values (b), randomness (e), operands (f)."""

import numpy as np
import pytest

import flow_core as flow
from flow_autograd import no_grad
from flow_core import Generator
from flow_sbp import Counting, Layout, Placement, spmd
from flow_sbp.global_tensor import distribute, explicit, from_shards, global_tensor, rand, randn, set_comm
from flow_sbp.validate import addends

X2, X3, X4 = (Placement(range(n), "x") for n in (2, 3, 4))
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


def partial(value, mesh=X4, sbp="P"):
    """A function from a communicator to a global tensor of `value` whose parts have both signs and are none of them the value."""
    layout = Layout(value.shape, value.dtype, mesh, sbp)
    parts = dict(zip(mesh.ranks, addends(value, layout, np.random.default_rng(1)), strict=True))
    return lambda comm: global_tensor(flow.from_numpy(parts[comm.rank]), layout, comm)


def check(fn, expected, num_ranks=4, rtol=1e-9):
    """fn(comm), on every rank, is `expected`."""
    for got in on_ranks(fn, num_ranks):
        np.testing.assert_allclose(got, expected, rtol, rtol)


def test_a3_mlp_width5_tp2():
    x, w1, w2 = RNG.normal(size=(4, 6)), RNG.normal(size=(5, 6)), RNG.normal(size=(3, 5))

    def run(comm):
        column, row = distribute(w1, X2, "S(0)"), distribute(w2, X2, "S(1)")
        with explicit():
            h = flow.linear(distribute(x, X2, "B"), column)
        assert str(h.layout) == "f64[4, 5@x]"
        hopped = from_shards(flow.gelu(h.to_local()), h.placement, h.sbp)
        assert hopped.layout == h.layout
        with explicit():
            out = flow.linear(hopped, row)
        assert str(out.layout) == "f64[4, 3] P(sum)@x"
        return out.full().numpy()

    dense = flow.linear(flow.gelu(flow.linear(flow.tensor(x), flow.tensor(w1))), flow.tensor(w2)).numpy()
    check(run, dense, 2)


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize("mesh", [X2, X4])
def test_a6_mean_ragged(n, mesh):
    value = RNG.normal(size=n)

    def run(comm):
        x = distribute(value, mesh, "S(0)").requires_grad_()
        mean = x.mean()
        mean.backward()
        np.testing.assert_allclose(x.grad.full().numpy(), np.full(n, 1 / n))
        return mean.item()

    check(run, value.mean(), mesh.size)


def test_a16_tp3_heads8():
    x, qkv, proj = RNG.normal(size=(2, 5, 6)), RNG.normal(size=(3, 8, 4, 6)), RNG.normal(size=(6, 8, 4))

    def block(x, q, k, v, proj):
        q, k, v = (flow.linear(x, w).permute(0, 2, 1, 3) for w in (q, k, v))  # (batch, heads, tokens, 4)
        out, _ = flow.attention(q, k, v, causal=True)
        return flow.linear(out.permute(0, 2, 1, 3), proj, num_in=2)

    local = [flow.tensor(a, requires_grad=True) for a in (x, *qkv, proj)]
    expected = block(*local)
    (expected * expected).sum().backward()

    def run(comm):
        laid = ["B", "S(0)", "S(0)", "S(0)", "S(1)"]
        args = [distribute(t.detach(), X3, one).requires_grad_() for t, one in zip(local, laid, strict=True)]
        assert args[1].shard.shape == ((3, 3, 2)[comm.rank], 4, 6)
        with explicit():
            out = block(*args)
        assert str(out.layout) == "f64[2, 5, 6] P(sum)@x"
        out = out.to_global(sbp="B")
        (out * out).sum().backward()
        assert [str(t.grad.layout.sbp[0]) for t in args] == ["P", "S(0)", "S(0)", "S(0)", "S(1)"]
        return [out.detach().full().numpy(), *[t.grad.full().numpy() for t in args]]

    for results in on_ranks(run, 3):
        for got, want in zip(results, [expected.detach(), *[t.grad for t in local]], strict=True):
            np.testing.assert_allclose(got, want.numpy(), 1e-9, 1e-9)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_b1_compare_partial(name):
    value, op = VALUE.round(), getattr(flow, name)
    expected = op(flow.tensor(-5 * value), flow.tensor(2 * value)).numpy()
    made = partial(value)
    check(lambda comm: op(-5 * made(comm), 2 * made(comm)).full().numpy(), expected)
    check(lambda comm: op(made(comm), 0.0).full().numpy(), op(flow.tensor(value), 0.0).numpy())


def test_b2_partial_plus_scalar():
    made = partial(VALUE)
    check(lambda comm: (made(comm) + 10).full().numpy(), VALUE + 10)
    check(lambda comm: (10 + made(comm)).full().numpy(), VALUE + 10)
    check(lambda comm: (made(comm) - 10).full().numpy(), VALUE - 10)
    check(lambda comm: (10 - made(comm)).full().numpy(), 10 - VALUE)
    check(lambda comm: (made(comm) + distribute(np.array(10.0), X4, "B")).full().numpy(), VALUE + 10)
    check(lambda comm: flow.ones_like(made(comm)).full().numpy(), np.ones((7, 5)))


def test_b2_a_number_that_is_copied_into_parts_is_refused():
    def run(comm):
        with pytest.raises(ValueError, match=r"copy_: f64\[7, 5\] P\(sum\)@x is partial"):
            partial(VALUE)(comm).copy_(10.0)

    on_ranks(run)


NORMS = {
    "norm1": (lambda x: abs(x).sum(), np.abs(VALUE).sum()),
    "norm2": (lambda x: flow.sqrt(flow.sum_of_squares(x)), np.sqrt((VALUE**2).sum())),
    "inf": (lambda x: abs(x).amax(), np.abs(VALUE).max()),
    "max": (lambda x: x.amax(), VALUE.max()),
    "min": (lambda x: x.amin(), VALUE.min()),
    "max of a dim": (lambda x: x.amax(dim=1), VALUE.max(axis=1)),
    "sum of norms": (lambda x: flow.sqrt((x * x).sum(dim=1)).sum(), np.sqrt((VALUE**2).sum(axis=1)).sum()),
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("sbp", ["P, B", "P, S(0)", "S(1), P", "P, P", "S(0), S(1)"])
def test_b3_nonlinear_reduce_of_p(name, sbp):
    function, expected = NORMS[name]
    check(lambda comm: function(partial(VALUE, MESH, sbp)(comm)).full().numpy(), expected)


def test_b6_item_partial():
    made = partial(np.array(0.75))
    check(lambda comm: [made(comm).item(), float(made(comm)), int(made(comm)), bool(made(comm))], [0.75, 0.75, 0, 1])
    check(lambda comm: 1 if partial(np.array(0.0))(comm) else 2, 2)


def test_b7_cast_p_int():
    check(lambda comm: from_shards(flow.tensor(0.6), X2, "P").int().full().numpy(), 1, 2)
    check(lambda comm: from_shards(flow.tensor(0.25 - 0.5 * comm.rank), X2, "P").bool().full().numpy(), False, 2)


def test_b8_cast_p_widen_keeps_p():
    def run(comm):
        before = comm.bytes_sent
        with explicit():
            x = from_shards(flow.full(shape=(8, 3), fill_value=1 + 2.0**-7, dtype=flow.bfloat16), X4, "P").float()
            assert str(x.layout) == "f32[8, 3] P(sum)@x"
        assert comm.bytes_sent == before
        y = x.to_global(sbp="S(0)")
        return y.full().numpy(), comm.bytes_sent - before

    results = on_ranks(run)
    for got, _ in results:
        np.testing.assert_array_equal(got, np.full((8, 3), 4 + 2.0**-5, "f4"))
    reduce_scatter, gather = 3 * 8 * 3 * 4, 3 * 8 * 3 * 4
    assert sum(sent for _, sent in results) == reduce_scatter + gather


def test_b9_local_hop_grad():
    def run(comm):
        for one in ("B", "P", "S(0)", "S(1)"):
            x = distribute(VALUE, X4, one).requires_grad_()
            with pytest.raises(ValueError, match="would lose its gradient"):
                (x * 2).to_local()

    on_ranks(run)


def test_b10_norm_weight_grad_2d():
    x, w, b, g = RNG.normal(size=(3, 5, 6)), RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=(3, 5, 6))
    local = [flow.tensor(a, requires_grad=True) for a in (x, w, b)]
    flow.layer_norm(*local)[0].backward(flow.tensor(g))

    def run(comm):
        args = [distribute(t.detach(), MESH, one) for t, one in zip(local, ("S(0), S(1)", "B, B", "B, B"), strict=True)]
        args = [t.requires_grad_() for t in args]
        before = comm.bytes_sent
        with explicit():
            flow.layer_norm(*args)[0].backward(distribute(g, MESH, "S(0), S(1)"))
        assert comm.bytes_sent == before
        assert [str(t.grad.layout) for t in args] == ["f64[3@dp, 5@tp, 6]"] + ["f64[6] P(sum)@(dp,tp)"] * 2
        grads = [t.grad.full().numpy() for t in args[1:]]
        return args[0].grad.full().numpy(), *grads

    for got in on_ranks(run):
        for a, t in zip(got, local, strict=True):
            np.testing.assert_allclose(a, t.grad.numpy(), 1e-9, 1e-9)


@pytest.mark.parametrize("sizes", [None, {0: (0, 5, 0, 2)}])
def test_b15_s_to_p(sizes):
    src = Layout((7, 5), "f64", X4, "S(0)", sizes=sizes)

    def run(comm):
        x = distribute(VALUE, X4, "B").to_global(layout=src).requires_grad_()
        before = comm.bytes_sent
        y = x.to_global(sbp="P")
        y.backward(distribute(VALUE, X4, "B"))
        assert comm.bytes_sent == before
        assert x.grad.layout == src
        np.testing.assert_array_equal(x.grad.full().numpy(), VALUE)
        return y.detach().full().numpy()

    check(run, VALUE)


KEEP_PARTS = {
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "reshape": lambda x: x.reshape(5, 7),
    "flatten": lambda x: x.flatten(),
    "transpose": lambda x: x.transpose(0, 1),
    "T": lambda x: x.T,
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(1).squeeze(1),
    "expand": lambda x: x.unsqueeze(0).expand(3, 7, 5),
    "slice": lambda x: x[1:6, ::2],
    "index": lambda x: x[2, None],
    "split": lambda x: x.split(3)[1],
    "cat": lambda x: flow.cat([x, x], dim=1),
    "stack": lambda x: flow.stack([x, x]),
    "detach": lambda x: x.detach(),
    "scaled": lambda x: -x * 2 / 3,
    "sum": lambda x: x.sum(dim=1) + x.mean(dim=1),
    "double": lambda x: x.double(),
}


OF_FLOATS = {"sum", "double"}  # a mean is of floats, and to round a sum of integers is not to round its parts


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, t) for name in KEEP_PARTS for t in ("f4", "f8", "i8") if t != "i8" or name not in OF_FLOATS],
)
def test_b16_no_comm_clone(name, dtype):
    value = VALUE.astype("f4").astype(dtype)

    def run(comm):
        x = partial(value)(comm)
        with explicit():
            y = KEEP_PARTS[name](x)
        assert comm.bytes_sent == 0
        assert str(y.layout.sbp[0]) == "P"
        return y.full().numpy()

    check(run, KEEP_PARTS[name](flow.tensor(value)).numpy(), rtol=1e-5)


E1_LAYOUTS = [
    *[(X3, one) for one in ("B", "S(0)", "S(1)")],
    *[(MESH, one) for one in ("S(0), B", "S(0), S(1)", "S(1), S(0)", "S(1), S(1)", "B, B")],
    (Placement([1], "x"), "B"),
]


@pytest.mark.parametrize("dtype", [flow.float32, flow.float64, flow.bfloat16])
def test_e1_rng_invariant(dtype):
    expected = {}
    for name in ("rand", "randn"):
        expected[name] = getattr(flow, name)(7, 5, dtype=dtype, generator=Generator(5)).numpy()
    expected["dropout"] = flow.dropout(flow.ones(7, 5, dtype=dtype), 0.3, generator=Generator(5)).numpy()

    def run(comm):
        found = []
        for mesh, one in E1_LAYOUTS:
            generator = Generator(5)
            found += [("rand", rand((7, 5), mesh, one, dtype=dtype, generator=Generator(5)))]
            found += [("randn", randn((7, 5), mesh, one, dtype=dtype, generator=Generator(5)))]
            ones = distribute(np.ones((7, 5)), mesh, one).to(dtype)
            found += [("dropout", flow.dropout(ones, 0.3, generator=generator))]
            assert generator.calls == 1
        return [(name, None if x.full() is None else x.full().numpy().tobytes()) for name, x in found]

    for found in on_ranks(run):
        for name, bits in found:
            assert bits in (None, expected[name].tobytes())


def test_e1_dropout_of_parts_drops_the_same_elements_of_each():
    expected = flow.dropout(flow.tensor(VALUE), 0.3, generator=Generator(5)).numpy()

    def run(comm):
        with explicit():
            y = flow.dropout(partial(VALUE, MESH, "P, S(1)")(comm), 0.3, generator=Generator(5))
        return y.full().numpy()

    check(run, expected)


def test_f4_plain_operand():
    def run(comm):
        x = distribute(VALUE, X4, "S(0)")
        calls = {
            "add": lambda: x + flow.tensor(VALUE),
            "sub": lambda: flow.tensor(VALUE) - x,
            "mul": lambda: x * VALUE,
            "matmul": lambda: x @ flow.tensor(VALUE.T),
            "cat": lambda: flow.cat([x, flow.tensor(VALUE)]),
            "where": lambda: flow.where(x > 0, x, flow.tensor(VALUE)),
            "take_rows": lambda: x[flow.tensor([1, 2])],
            "copy_": lambda: x.copy_(flow.tensor(VALUE)),
        }
        for name, call in calls.items():
            says = (
                rf"{name}: argument \d is a .* among global ones; lift it first, with distribute\(x, placement, sbp\)"
            )
            with no_grad(), pytest.raises(TypeError, match=says):
                call()
        assert comm.bytes_sent == 0
        return (2 * x + 1.5 - x / 4 + np.float64(3) + flow.where(x > 0, x, 0)).full().numpy()

    check(run, 2 * VALUE + 1.5 - VALUE / 4 + 3 + np.where(VALUE > 0, VALUE, 0))
