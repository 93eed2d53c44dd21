"""Modules keep their parameters, buffers and modules under names."""

import numpy as np
import pytest

import flow_core as flow
import flow_nn as nn


class Tied(nn.Module):
    """Two names for one parameter, a buffer, an absent parameter, and plain attributes."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(flow.ones(2))
        self.register_buffer("count", flow.tensor([0, 0]))
        self.register_parameter("absent", None)
        self.width = 3
        self.plain = flow.ones(4)


def names(pairs):
    return [name for name, _ in pairs]


def values(module):
    return {name: t.numpy().copy() for name, t in module.state_dict().items()}


def assert_equal_states(actual, expected):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value)


def test_a_parameter_is_a_leaf_tensor_that_shares_memory():
    data = flow.ones(2, 3)
    p = nn.Parameter(data)
    assert isinstance(p, nn.Parameter)
    assert isinstance(p, flow.Tensor)
    assert p.requires_grad
    assert p.is_leaf
    assert np.shares_memory(p.detach().numpy(), data.numpy())
    assert not nn.Parameter(data, requires_grad=False).requires_grad


def test_other_things_are_no_parameters():
    p = nn.Parameter(flow.ones(2))
    for x in (flow.ones(2), flow.ones(2).requires_grad_(), p * 1, p.detach(), p.clone(), np.ones(2), None, 1.0):
        assert not isinstance(x, nn.Parameter)


def test_attributes_are_registered_by_what_they_are():
    m = Tied()
    assert names(m.named_parameters()) == ["scale", "first.weight", "first.bias"]
    assert names(m.named_modules()) == ["", "first", "second"]
    assert list(m.modules()) == [m, m.first, m.second]
    assert list(m.children()) == [m.first, m.second]
    assert m.absent is None
    assert m.width == 3
    assert "plain" not in m.state_dict()


def test_an_attribute_that_changes_its_kind_changes_its_table():
    m = nn.Module()
    m.x = 1
    m.x = nn.Parameter(flow.ones(2))
    assert names(m.named_parameters()) == ["x"]
    m.x = nn.GELU()
    assert names(m.named_parameters()) == []
    assert names(m.named_modules()) == ["", "x"]
    del m.x
    assert names(m.named_modules()) == [""]
    with pytest.raises(AttributeError, match="Module has no attribute 'x'"):
        _ = m.x
    with pytest.raises(AttributeError, match="Module has no attribute 'x'"):
        del m.x


def test_a_parameter_is_replaced_by_parameters_only():
    m = Tied()
    for value in (flow.ones(2), 1.0, np.ones(2)):
        with pytest.raises(TypeError, match=f"Tied.scale is a Parameter, not {type(value).__name__}"):
            m.scale = value
        with pytest.raises(TypeError, match=r"Tied: parameter scale is .*: wrap it"):
            m.register_parameter("scale", value)
    with pytest.raises(TypeError, match=r"Tied.first is a Module, not int"):
        m.first = 3
    with pytest.raises(TypeError, match=r"Tied.count is a tensor, not int"):
        m.count = 3
    assert isinstance(m.scale, nn.Parameter)
    m.scale = m.first = None
    m.count = flow.tensor([1, 2])
    assert list(m.state_dict()) == ["count", "second.weight"]
    assert list(m.children()) == [m.second]


def test_a_module_that_skips_init_is_told():
    class Forgot(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(flow.ones(1))

    with pytest.raises(TypeError, match=r"Forgot.__init__ must call super\(\).__init__\(\) before it sets weight"):
        Forgot()


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Tied does not define forward"):
        Tied()(1)


def test_a_tied_parameter_comes_once_and_has_both_names_in_the_state():
    m = Tied()
    assert [id(p) for p in m.parameters()].count(id(m.first.weight)) == 1
    state = m.state_dict()
    assert list(state) == ["scale", "count", "first.weight", "first.bias", "second.weight"]
    assert np.shares_memory(state["first.weight"].numpy(), state["second.weight"].numpy())


def test_a_module_under_two_names_comes_once_and_has_both_names_in_the_state():
    layer = nn.Linear(2, 2)
    m = nn.Sequential(layer, nn.GELU(), layer)
    assert names(m.named_modules()) == ["", "0", "1"]
    assert names(m.named_parameters()) == ["0.weight", "0.bias"]
    assert list(m.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_a_state_shares_memory_and_requires_no_grad():
    m = Tied()
    state = m.state_dict()
    assert not any(t.requires_grad for t in state.values())
    state["scale"].mul_(5)
    np.testing.assert_array_equal(m.scale.detach().numpy(), [5, 5])


def test_a_state_loads_into_another_module():
    source, target = Tied(), Tied()
    source.count = flow.tensor([3, 4])
    weight = target.first.weight
    assert not np.array_equal(values(source)["first.weight"], values(target)["first.weight"])
    target.load_state_dict(source.state_dict())
    assert_equal_states(values(target), values(source))
    assert target.first.weight is target.second.weight is weight
    assert weight.requires_grad
    assert not np.shares_memory(weight.detach().numpy(), source.first.weight.detach().numpy())
    target.load_state_dict({name: array + 1 for name, array in values(source).items()})
    np.testing.assert_array_equal(target.count.numpy(), [4, 5])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"first.bias": None}, "the state does not fit Tied: first.bias is missing"),
        ({"third": np.ones(1)}, "third is unknown"),
        ({"second.weight": np.ones((3, 2), np.float32)}, r"second.weight is f32\[3, 2\], expected f32\[3, 3\]"),
        ({"scale": np.ones((), np.float32)}, r"scale is f32\[\], expected f32\[2\]"),
        ({"scale": np.ones(2, np.complex64)}, r"scale is c64\[2\], expected f32\[2\]"),
        ({"count": np.ones(2)}, r"count is f64\[2\], expected i64\[2\]"),
        ({"scale": [1.0, 2.0]}, r"scale is list, expected f32\[2\]"),
        ({name: np.ones(1) for name in "abcdefg"}, "a is unknown; b is unknown; .* and 3 more"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_before_anything_is_written(changes, said):
    m = Tied()
    before = values(m)
    state = {name: array + 1 for name, array in before.items()} | changes
    with pytest.raises(ValueError, match=said) as error:
        m.load_state_dict({name: value for name, value in state.items() if value is not None})
    assert "\n" not in str(error.value)
    assert_equal_states(values(m), before)


def test_floats_of_another_width_are_rounded_into_place():
    m = nn.LayerNorm(2)
    m.load_state_dict({"weight": np.array([0.1, 0.2]), "bias": np.array([1, 2])})
    np.testing.assert_array_equal(m.weight.detach().numpy(), np.float32([0.1, 0.2]))
    np.testing.assert_array_equal(m.bias.detach().numpy(), np.float32([1, 2]))


def test_train_and_eval_reach_every_module():
    m = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.1)))
    assert all(part.training for part in m.modules())
    assert m.eval() is m
    assert not any(part.training for part in m.modules())
    assert m.train() is m
    assert all(part.training for part in m.modules())
    m.train(False)
    assert not m[1][0].training


def test_apply_visits_what_is_inside_first():
    m = nn.Sequential(nn.GELU(), nn.Sequential(nn.Dropout()))
    seen = []
    assert m.apply(seen.append) is m
    assert seen == [m[0], m[1][0], m[1], m]


def test_zero_grad_drops_the_gradients():
    m = nn.Linear(2, 1)
    m(flow.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in m.parameters())
    m.zero_grad()
    assert all(p.grad is None for p in m.parameters())


def test_to_casts_floats_in_place_and_keeps_ties_and_gradients():
    m = Tied()
    weight = m.first.weight
    (m.first(flow.ones(1, 3)) + m.second(flow.ones(1, 3))).sum().backward()
    expected = values(m)
    assert m.to(flow.float64) is m
    assert m.first.weight is m.second.weight is weight
    assert isinstance(weight, nn.Parameter)
    assert {p.dtype for p in m.parameters()} == {flow.float64}
    assert m.count.dtype == flow.int64
    assert weight.grad.dtype == flow.float64
    np.testing.assert_array_equal(weight.grad.numpy(), np.full((3, 3), 2.0))
    assert m.first(flow.ones(1, 3, dtype=flow.float64)).dtype == flow.float64
    assert_equal_states(values(m.to(flow.float32)), expected)
    with pytest.raises(TypeError, match=r"Tied.to: int64 is not a float type"):
        m.to(flow.int64)


def test_a_module_prints_as_a_tree():
    m = nn.Sequential(nn.Linear(2, (3, 4), bias=False), nn.ModuleList([nn.GELU("tanh"), nn.Dropout(0.1)]))
    assert repr(m) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=(3, 4), bias=False)\n"
        "  (1): ModuleList(\n"
        "    (0): GELU(approximate='tanh')\n"
        "    (1): Dropout(p=0.1)\n"
        "  )\n"
        ")"
    )


def test_a_list_of_modules_is_a_list():
    m = nn.ModuleList([nn.GELU()])
    m.append(nn.Linear(2, 2))
    assert len(m) == 2
    assert list(m) == [m[0], m[1]]
    assert m[-1] is m[1]
    assert list(m.state_dict()) == ["1.weight", "1.bias"]
