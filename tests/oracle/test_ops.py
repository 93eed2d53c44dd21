"""Every op against what PyTorch computed: values, gradients, dtypes, and what must be refused."""

import warnings

import pytest
from adapter import Flow
from oracle_cases import entries, raises, wrong_with

# Eigenvectors and the like are defined up to a sign or a phase: tests/core/test_algebra.py has their laws.
GAUGE = {file for file, entry in entries().items() if "gauge" in entry.tags}
# None of PyTorch's public spellings reproduces these.
UNTESTABLE = {file for file, entry in entries().items() if not any(case["how"] for case in entry.cases)} - GAUGE
# entry -> (dtypes, why ours differs there)
TIES = ("int64",), "of equal elements PyTorch names the one that its selection came to, ours the first (mode: the last)"
PART = ("complex64",), "a cast of complex numbers to floats drops a part: refused"
DIFFERS = {
    "as_strided_scatter": (
        ("float32",),
        "PyTorch gives the input the gradient of the places that src overwrites, and none of the others; finite differences say the reverse",
    ),
    "kthvalue": TIES,
    "topk": TIES,
    "mode": TIES,
    "log_softmax--with_dtype": PART,
    "nn.functional.softmin--with_dtype": PART,
}
# entry -> (numbers of the calls that PyTorch refuses and we take, why)
TAKEN = {}

NAMES = sorted(set(entries()) - GAUGE - UNTESTABLE)


@pytest.fixture(scope="module")
def adapter():
    return Flow()


@pytest.mark.parametrize("file", NAMES)
def test_values_and_gradients_are_pytorchs(adapter, file):
    entry = entries()[file]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = {
            f"case {i}, {case['dtype']}": found
            for i, case in enumerate(entry.cases)
            if case["how"] and (found := wrong_with(adapter, entry, case))
        }
    expected = DIFFERS.get(file, ((), ""))[0]
    assert {label: found for label, found in wrong.items() if label.split(", ")[1] not in expected} == {}
    assert {label.split(", ")[1] for label in wrong} == set(expected), "right by now: strike it from DIFFERS"


@pytest.mark.parametrize("file", [file for file in NAMES if entries()[file].errors])
def test_what_pytorch_refuses_is_refused(adapter, file):
    entry = entries()[file]
    taken = {i for i, case in enumerate(entry.errors) if not raises(adapter, entry, case)}
    assert taken == set(TAKEN.get(file, ((), ""))[0])


def test_the_data_is_whole():
    assert len(entries()) == 490
    assert sum(len(entry.cases) for entry in entries().values()) == 4041
    assert sum("grad" in case for entry in entries().values() for case in entry.cases) == 1974
    assert sum(len(entry.errors) for entry in entries().values()) == 314
    assert (len(GAUGE), len(UNTESTABLE), len(NAMES)) == (4, 12, 474)
