"""A few eigenvalues, principal components, the reflections of a QR decomposition; frames aligned to a window; no `out`."""

import numpy as np
import pytest

import flow_core as flow

F64 = flow.float64
RNG = np.random.default_rng(6)


def symmetric(n, shift=0):
    x = RNG.normal(size=(n, n))
    return x + x.T + shift * np.eye(n)


@pytest.mark.parametrize("largest", [None, True, False])
@pytest.mark.parametrize("general", [False, True])
def test_lobpcg_finds_the_eigenvalues_at_an_end(largest, general):
    a, b = symmetric(9), symmetric(9, 20) if general else np.eye(9)
    values, vectors = flow.lobpcg(flow.from_numpy(a), 3, flow.from_numpy(b) if general else None, largest=largest)
    every = np.sort(np.linalg.eigvals(np.linalg.solve(b, a)).real)
    np.testing.assert_allclose(values.numpy(), every[:3] if largest is False else every[:-4:-1], atol=1e-9)
    np.testing.assert_allclose(a @ vectors.numpy(), b @ vectors.numpy() * values.numpy(), atol=1e-9)


def test_the_number_of_eigenvalues_is_that_of_the_columns_of_x():
    a = flow.from_numpy(symmetric(6))
    assert flow.lobpcg(a)[0].shape == (1,)
    assert flow.lobpcg(a, X=flow.ones(6, 2, dtype=F64))[1].shape == (6, 2)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3), (0, 2), (3, 0)])
def test_the_reflections_make_up_q(shape):
    x = RNG.normal(size=shape)
    a, tau = flow.geqrf(flow.from_numpy(x))
    assert tau.shape == (*shape[:-2], min(shape[-2:]))
    k = min(shape[-2:])
    q = flow.linalg.householder_product(a[..., :k], tau).numpy()
    np.testing.assert_allclose(q @ np.triu(a.numpy())[..., :k, :], x, atol=1e-12)
    np.testing.assert_allclose(flow.ormqr(a[..., :k], tau, flow.from_numpy(x), transpose=True).numpy()[..., :k, :],
                               np.triu(a.numpy())[..., :k, :], atol=1e-12)  # fmt: skip


def test_principal_components_are_singular_vectors_of_centred_rows():
    x = RNG.normal(size=(7, 4)) @ np.diag([9, 5, 1e-3, 1e-4])
    u, s, v = flow.pca_lowrank(flow.from_numpy(x), q=2)
    exact = np.linalg.svd(x - x.mean(0))
    np.testing.assert_allclose(s.numpy(), exact[1][:2], rtol=1e-6)
    np.testing.assert_allclose(abs(v.numpy().T @ exact[2][:2].T), np.eye(2), atol=1e-6)
    np.testing.assert_allclose(abs(u.numpy().T @ exact[0][:, :2]), np.eye(2), atol=1e-6)
    assert flow.pca_lowrank(flow.from_numpy(x), center=False)[1].shape == (4,)


def test_the_first_window_begins_with_the_signal_if_aligned():
    x, window = RNG.normal(size=12), np.hanning(6)[1:5]
    signal, w = flow.from_numpy(x), flow.from_numpy(np.ascontiguousarray(window))
    out = flow.stft(signal, 8, 3, 4, window=w, center=False, align_to_window=True, return_complex=True).numpy()
    assert out.shape == (5, 3)  # 1 + (12 - 4) // 3 frames
    for i in range(3):
        frame = np.zeros(8)
        frame[2:6] = x[3 * i : 3 * i + 4] * window
        np.testing.assert_allclose(out[:, i], np.fft.rfft(frame), atol=1e-12)
    plain = [flow.stft(signal, 8, 3, center=False, align_to_window=a, return_complex=True) for a in (None, False, True)]
    for other in plain[1:]:
        np.testing.assert_array_equal(plain[0].numpy(), other.numpy())


A = flow.ones(4, 4, dtype=F64)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: flow.norm(A, out=A), TypeError, "norm: out is not supported"),
        (lambda: flow.fft.fftfreq(4, out=A), TypeError, "fftfreq: out is not supported"),
        (lambda: flow.fft.rfftfreq(4, out=A), TypeError, "rfftfreq: out is not supported"),
        (lambda: flow.stft(A[0], 4, align_to_window=True, return_complex=True), ValueError, "give center=False"),
        (lambda: flow.lobpcg(A, 2), ValueError, "lobpcg: k is 2, expected at most a third of the 4 rows"),
        (lambda: flow.lobpcg(A, tracker=print), TypeError, "lobpcg: tracker is not supported"),
        (lambda: flow.lobpcg(A, method="power"), ValueError, "lobpcg: method is 'power'"),
        (lambda: flow.lobpcg(A, B=A[:3, :3]), ValueError, "lobpcg: B "),
        (lambda: flow.lobpcg(A, X=A[:3]), ValueError, "lobpcg: X "),
        (lambda: flow.lobpcg(A[:3]), ValueError, "lobpcg: .* square"),
        (lambda: flow.pca_lowrank(A, 5), ValueError, "pca_lowrank: q is 5, expected at most 4"),
        (lambda: flow.geqrf(A[0]), ValueError, "geqrf"),
    ],
)
def test_what_is_not_supported_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
