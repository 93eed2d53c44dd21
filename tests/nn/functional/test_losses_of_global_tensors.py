"""A loss of global tensors is the loss of the whole value, wherever it lies."""

import numpy as np
import pytest

import flow_core as flow
import flow_nn.functional as F
from flow_sbp import Placement, spmd
from flow_sbp.global_tensor import distribute, set_comm

X2 = Placement(range(2), "x")
V = np.random.default_rng(0).normal(size=(5, 6))
P, S = 1 / (1 + np.exp(-V)), np.sign(V)
LOG_P = np.log(P / P.sum(1, keepdims=True))
CLASSES, LABELS = np.array([0, 5, -100, 2, 1]), np.random.default_rng(1).integers(-1, 6, (5, 6))
CASES = {
    "l1": lambda t: F.l1_loss(t(V), t(P)),
    "mse": lambda t: F.mse_loss(t(V), t(P), reduction="sum"),
    "smooth l1": lambda t: F.smooth_l1_loss(t(V), t(P)),
    "huber": lambda t: F.huber_loss(t(V), t(P), reduction="none"),
    "binary cross entropy": lambda t: F.binary_cross_entropy(t(P), t(P)),
    "of logits": lambda t: F.binary_cross_entropy_with_logits(t(V), t(P)),
    "divergence": lambda t: F.kl_div(t(LOG_P), t(P), reduction="batchmean"),
    "poisson": lambda t: F.poisson_nll_loss(t(V), t(P), full=True),
    "gaussian": lambda t: F.gaussian_nll_loss(t(V), t(V * 2), t(P)),
    "hinge": lambda t: F.hinge_embedding_loss(t(V), t(S)),
    "soft margin": lambda t: F.soft_margin_loss(t(V), t(S)),
    "cosine embedding": lambda t: F.cosine_embedding_loss(t(V), t(P), t(S[:, 0])),
    "ranking": lambda t: F.margin_ranking_loss(t(V), t(P), t(S)),
    "multi margin": lambda t: F.multi_margin_loss(t(V), t(CLASSES % 6)),
    "multilabel margin": lambda t: F.multilabel_margin_loss(t(V), t(LABELS)),
    "multilabel soft margin": lambda t: F.multilabel_soft_margin_loss(t(V), t(P)),
    "triplets": lambda t: F.triplet_margin_loss(t(V), t(P), t(S), swap=True),
    "cross entropy": lambda t: F.cross_entropy(t(V), t(CLASSES)),
    "smoothed": lambda t: F.cross_entropy(t(V), t(CLASSES), label_smoothing=0.1),
    "of probabilities": lambda t: F.cross_entropy(t(V), t(P)),
    "likelihood": lambda t: F.nll_loss(t(V), t(CLASSES)),
    "cosine": lambda t: F.cosine_similarity(t(V), t(P)),
    "pairwise": lambda t: F.pairwise_distance(t(V), t(P)),
    "bilinear": lambda t: F.bilinear(t(V), t(P), t(np.ones((2, 6, 6)))),
}


@pytest.mark.parametrize("sbp", ["S(0)", "B"])
@pytest.mark.parametrize("name", CASES)
def test_a_loss_of_global_tensors_is_that_of_the_whole(name, sbp):
    expected = CASES[name](lambda array: flow.tensor(array)).numpy()

    def run(comm):
        set_comm(comm)
        return CASES[name](lambda a: distribute(a.copy(), X2, sbp)).full().numpy()

    for found in spmd(2, run):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
