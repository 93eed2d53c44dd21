"""What an op costs where arrays are small: microseconds an execution of a statement, one thread on each side.

Both sides execute the same statement on their own tensors of the same 16x16 float32 numbers. A turn is the fastest of 5 blocks of
about 4 ms each, in which the statement is repeated and the collector of cycles is on; ours and the peer take turns. A row is the
median of the turns of each side, and the ratio of these medians. Where the sides' results differ, the status is 1.
"""

import peer
import report
import worker
from paired import alternate

NUM_PAIRS = 15
NUM_BLOCKS = 5  # in a turn
BLOCK_SECONDS = 4e-3
TOLERANCE = 1e-4  # of the largest result: both sides compute in float32, in orders of their own

# name: (statement, what then holds its result). z alone requires grad: with it, what a backward pass needs is recorded.
STATEMENTS = {
    "add_16x16": ("x + y", "x + y"),
    "add_16x16_grad": ("z + y", "z + y"),
    "mul_16x16": ("x * y", "x * y"),
    "mul_16x16_grad": ("z * y", "z * y"),
    "matmul_16x16": ("x @ y", "x @ y"),
    "matmul_16x16_grad": ("z @ y", "z @ y"),
    "view_16x16": ("x.view(256)", "x.view(256)"),
    "view_16x16_grad": ("z.view(256)", "z.view(256)"),
    "sum_16x16": ("x.sum()", "x.sum()"),
    "sum_16x16_grad": ("z.sum()", "z.sum()"),
    "forward_backward_3op": ("z.grad = None; ((z * y) @ w).sum().backward()", "z.grad"),
    "forward_backward_10op": (
        "z.grad = None; a = (z * y) @ w + x; b = (a * y) @ w + x; c = (b * y) @ w + x; c.sum().backward()",
        "z.grad",
    ),
}
ROWS = list(STATEMENTS)


def measure(names, num_pairs):
    """The Report of the rows called `names`."""
    rows, failures = [], []
    with peer.start(1) as theirs, worker.start_ours(1) as ours:
        for name in names:
            failures += check(name, *STATEMENTS[name], ours, theirs)
            rows.append(measure_row(name, STATEMENTS[name][0], ours, theirs, num_pairs))
        return report.Report(rows, failures, ours.versions, theirs.versions)


def measure_row(name, statement, ours, theirs, num_pairs):
    """The Row of a statement."""
    arguments = {"statement": statement, "num_blocks": NUM_BLOCKS, "block_seconds": BLOCK_SECONDS}
    ours("fastest", **arguments)  # warm both up, which also finds how many executions make a block
    theirs("fastest", **arguments)
    turns = alternate(
        lambda: ours("fastest", **arguments), lambda: theirs("fastest", **arguments), num_pairs=num_pairs, pause=0.0
    )
    our_median, their_median = turns.medians
    return report.Row(name, "us", our_median * 1e6, their_median * 1e6, turns.ratio, note=report.spread(turns))


def check(name, statement, result, ours, theirs):
    """What is wrong with the sides' results, in a list."""
    a, b = (side("value", statement=statement, result=result) for side in (ours, theirs))
    if len(a) != len(b):
        return [f"{name}: our result has {len(a)} elements, the peer's {len(b)}"]
    largest = max(map(abs, b))
    difference = max(abs(x - y) for x, y in zip(a, b, strict=True))
    if difference <= TOLERANCE * largest:
        return []
    return [f"{name}: the results differ by {difference:.1e}, where the largest is {largest:.1e}"]
