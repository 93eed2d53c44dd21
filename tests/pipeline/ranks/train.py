"""Train a chain of small linear layers, dp = 1, pp = ranks, by 1F1B: losses equal the dense run in numpy."""

import numpy as np

from flow_pipeline import Runtime, plan_of, schedule
from flow_sbp.mpi import MpiComm

STEPS, MICROBATCHES, WIDTH, RATE = 20, 6, 8, 0.05


def initial(stage: int) -> np.ndarray:
    return np.random.default_rng(stage).normal(size=(WIDTH, WIDTH)) / WIDTH**0.5


def data(step: int) -> list:
    rng = np.random.default_rng(1000 + step)
    return [(rng.normal(size=(2 + mb % 3, WIDTH)), rng.normal(size=(2 + mb % 3, WIDTH))) for mb in range(MICROBATCHES)]


def dense(num_stages: int) -> list:
    """The loss of each step: tanh layers, mean squares over the microbatches, plain gradient descent."""
    weights, losses = [initial(s) for s in range(num_stages)], []
    for step in range(STEPS):
        grads, total = [np.zeros_like(w) for w in weights], 0.0
        for x, target in data(step):
            xs = [x]
            for w in weights:
                xs.append(np.tanh(xs[-1] @ w))
            total += float(((xs[-1] - target) ** 2).mean())
            g = 2 * (xs[-1] - target) / target.size
            for s in reversed(range(num_stages)):
                g = g * (1 - xs[s + 1] ** 2)
                grads[s] += xs[s].T @ g
                g = g @ weights[s].T
        weights = [w - RATE * g for w, g in zip(weights, grads, strict=True)]
        losses.append(total)
    return losses


def main(comm: MpiComm) -> None:
    stage, last = comm.rank, comm.size - 1
    weight, grad = initial(stage), np.zeros((WIDTH, WIDTH))
    batch: list = []
    losses = []

    def forward(mb, x=None):
        x = batch[mb][0] if stage == 0 else x
        y = np.tanh(x @ weight)
        return (float(((y - batch[mb][1]) ** 2).mean()), (x, y)) if stage == last else (y, (x, y))

    def backward(mb, saved, g=None):
        x, y = saved
        g = 2 * (y - batch[mb][1]) / y.size if stage == last else g
        g = g * (1 - y**2)
        grad[...] += x.T @ g
        return g @ weight.T

    functions = {f"F{stage}": forward, f"BW{stage}": backward, "out": lambda mb, loss: loss}
    plan = plan_of(schedule("1f1b", comm.size, MICROBATCHES))
    with Runtime(plan, functions, comm, timeout=30) as runtime:
        for step in range(STEPS):
            batch[:] = data(step)
            grad[...] = 0
            out = runtime.run(keep=["out"]).get("out")
            weight -= RATE * grad
            losses.append(sum(out) if stage == last else None)
    if stage == last:
        comm.isend(np.array(losses), 0, 1).wait()
    if stage == 0:
        found = np.empty(STEPS)
        comm.irecv(found, last, 1).wait()
        np.testing.assert_allclose(found, dense(comm.size), rtol=1e-12)
        print(f"{STEPS} steps on {comm.size} ranks equal the dense run")


if __name__ == "__main__":
    main(MpiComm())
