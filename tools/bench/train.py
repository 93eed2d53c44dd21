"""The main job, beside the same model in PyTorch: the steps of `python -m flow_nn train` at its defaults, in float32.

The peer starts from our initial weights and gets our batches and learning rates as arrays; our side is the trainer itself, which
draws its batches. Both take 40 steps, which warm them up; loss_agreement is the largest difference of a loss in them, and the status
is 1 where it is above 1e-4. Then they take turns of 25 steps. A row is the median of the turns of each side, and the ratio of
these medians. train_tokens_per_s has as many threads as there are cores on each side, train_tokens_per_s_1thread one. The limit is
the fastest large float32 matrix product that either side computes with as many threads: the share is what the matrix products of
our training steps need of it. peak_memory_mb is the most that each process has held, libraries included, with a thread a core.

Two rows are ours beside ours: train_tokens_per_s_dp2, two ranks beside one with one thread each, and global_add_16x16, an op on a
global tensor beside the same on a plain one.
"""

import tempfile

import peer
import ranks
import report
import worker
from paired import alternate

NUM_PAIRS = 8
NUM_STEPS = 25  # in a turn
NUM_COMPARED = 40
AGREEMENT = 1e-4  # nats
PAUSE = 0.1  # seconds between turns: by then the threads of the side that had its turn sleep
MATMUL_SIZE = 1024
PEER_ROWS = ["loss_agreement", "train_tokens_per_s", "train_tokens_per_s_1thread", "peak_memory_mb"]
RANK_ROWS = {"train_tokens_per_s_dp2": ranks.second_rank, "global_add_16x16": ranks.overhead}
ROWS = [*PEER_ROWS, *RANK_ROWS]


def measure(names, num_pairs):
    """The Report of the rows called `names`."""
    rows, failures = {}, []
    sides = None
    if {*names} - {"train_tokens_per_s_1thread", *RANK_ROWS}:
        with Sides(worker.num_cores(), num_pairs) as sides:
            rows["loss_agreement"] = agreement = sides.agreement()
            if "train_tokens_per_s" in names:
                rows["train_tokens_per_s"] = sides.speed("train_tokens_per_s")
            if "peak_memory_mb" in names:
                rows["peak_memory_mb"] = sides.memory()
        if agreement.ours > AGREEMENT:
            failures.append(f"loss_agreement: {agreement.ours:.1e} nats are above {AGREEMENT:.0e}")
    if "train_tokens_per_s_1thread" in names:
        with Sides(1, num_pairs) as sides:
            sides.agreement()
            rows["train_tokens_per_s_1thread"] = sides.speed("train_tokens_per_s_1thread")
    rows |= {name: RANK_ROWS[name]() for name in names if name in RANK_ROWS}
    versions = [side.versions for side in (sides.ours, sides.theirs)] if sides else [{}, {}]
    return report.Report([rows[name] for name in names], failures, *versions)


class Sides:
    """Both workers at the start of the same job, each with `num_threads` threads; a context."""

    def __init__(self, num_threads, num_pairs):
        self.num_threads, self.num_pairs = num_threads, num_pairs
        self.ours = self.theirs = None

    def __enter__(self):
        try:
            self.theirs = peer.start(self.num_threads)
            self.ours = worker.start_ours(self.num_threads)
            with tempfile.TemporaryDirectory() as folder:
                self.job = self.ours("begin", folder=folder, num_steps=NUM_COMPARED + self.num_pairs * NUM_STEPS)
                self.theirs("begin", folder=folder, sizes=self.job["sizes"], **self.job["settings"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for side in (self.ours, self.theirs):
            if side is not None:
                side.close()

    def agreement(self):
        """The Row of the losses in the first steps."""
        ours, theirs = (side("train", num_steps=NUM_COMPARED)["losses"] for side in (self.ours, self.theirs))
        difference = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        verdict = "within" if difference <= AGREEMENT else "ABOVE"
        note = f"{verdict} {AGREEMENT:.0e} over {NUM_COMPARED} steps, loss {ours[0]:.4f} to {ours[-1]:.4f}"
        return report.Row("loss_agreement", "nats", difference, note=note)

    def speed(self, name):
        """The Row of the tokens trained on in a second."""
        turns = alternate(
            lambda: self.ours("train", num_steps=NUM_STEPS)["seconds"],
            lambda: self.theirs("train", num_steps=NUM_STEPS)["seconds"],
            num_pairs=self.num_pairs,
            pause=PAUSE,
        )
        tokens = NUM_STEPS * self.job["batch_size"] * self.job["sizes"]["block_size"]
        our_speed, their_speed = (tokens / seconds for seconds in turns.medians)
        share = our_speed * flops_per_token(**self.job["sizes"]) / self.limit()
        return report.Row(name, "tokens/s", our_speed, their_speed, turns.ratio, share, report.spread(turns))

    def limit(self):
        """The most operations a second of a large float32 matrix product, whichever side has the faster one."""
        seconds = [side("matmul", size=MATMUL_SIZE, num_products=20) for side in (self.ours, self.theirs)]
        return 2 * MATMUL_SIZE**3 / min(seconds)

    def memory(self):
        """The Row of the peaks so far."""
        ours, theirs = self.ours("peak_memory"), self.theirs("peak_memory")
        known = ours is not None and theirs is not None
        return report.Row("peak_memory_mb", "MB", ours, theirs, theirs / ours if known else None)


def flops_per_token(*, vocab_size, block_size, num_layers, num_heads, num_channels):
    """The operations of the matrix products in a training step, for each token; attention looks back at half the context on average."""
    attention = 2 * num_channels * (block_size + 1) / 2  # scores, then the sum over values
    block = 12 * num_channels**2 + attention  # c_attn 3, c_proj 1, c_fc 4, c_proj 4
    forward = 2 * (num_layers * block + vocab_size * num_channels)  # a product and a sum each
    return 3 * forward  # backward: one product for the inputs, one for the weights
