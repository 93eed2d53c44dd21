"""Times a statement in blocks, as timeit does. Both workers run this same code, on their own tensors.

The collector of cycles stays on, since a library that makes cycles must pay for them. The loop around the statement costs about
10 ns an execution on both sides, which is not subtracted.
"""

import random
import timeit

SIZE = 16


class Statements:
    """Statements over x, y, w, z, square float32 tensors; z alone requires grad. `tensor(rows, requires_grad)` makes one."""

    def __init__(self, tensor):
        self.names = {name: tensor(rows, name == "z") for name, rows in inputs().items()}
        self.timers = {}

    def value(self, statement, result):
        """The numbers in the tensor that the expression `result` gives after the statement, so that both sides can be compared."""
        exec(statement, self.names)
        return eval(result, self.names).detach().numpy().ravel().tolist()

    def fastest(self, statement, num_blocks, block_seconds):
        """Seconds an execution in the fastest of `num_blocks` blocks, each of about `block_seconds`."""
        if statement not in self.timers:
            self.timers[statement] = self.calibrated(statement, block_seconds)
        timer, number = self.timers[statement]
        return min(timer.repeat(num_blocks, number)) / number

    def calibrated(self, statement, block_seconds):
        """(timer, executions in a block); the executions on the way here warm the statement up."""
        timer = timeit.Timer(statement, "import gc; gc.enable()", globals=self.names)
        number = 1
        while (seconds := timer.timeit(number)) < block_seconds / 4:
            number *= 2
        return timer, max(1, round(number * block_seconds / seconds))


def inputs():
    """The same numbers on both sides: x, y, z of about 1, w so small that products with it neither grow nor vanish."""
    draw = random.Random(0).gauss
    scales = {"x": 1.0, "y": 1.0, "z": 1.0, "w": SIZE**-0.5}
    return {name: [[draw(0, s) for _ in range(SIZE)] for _ in range(SIZE)] for name, s in scales.items()}
