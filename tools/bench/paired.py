"""Two sides measured in turns: ours, peer, ours, peer, ... so that what disturbs the machine disturbs both."""

import statistics
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Paired:
    """Seconds that each side took for the same work, turn by turn."""

    ours: tuple
    peer: tuple

    @property
    def medians(self):
        """(ours, peer)"""
        return statistics.median(self.ours), statistics.median(self.peer)

    @property
    def best(self):
        """(ours, peer)"""
        return min(self.ours), min(self.peer)

    @property
    def ratio(self):
        """How many times faster than the peer: the ratio of the medians."""
        ours, peer = self.medians
        return peer / ours

    @property
    def best_ratio(self):
        """The ratio of the best turns."""
        ours, peer = self.best
        return peer / ours

    @property
    def quartiles(self):
        """The lower and upper quartile of the pairs' own ratios: how much one pair tells."""
        ratios = [peer / ours for ours, peer in zip(self.ours, self.peer, strict=True)]
        if len(ratios) == 1:
            return ratios[0], ratios[0]
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return low, high


def alternate(ours, peer, *, num_pairs, pause=0.05):
    """Calls ours() and peer() in turns, each returning the seconds it took. A side's threads may spin for a while after its turn:
    the other one waits for `pause` seconds."""
    seconds = [], []
    for _ in range(num_pairs):
        for side, taken in zip((ours, peer), seconds, strict=True):
            time.sleep(pause)
            taken.append(side())
    return Paired(tuple(seconds[0]), tuple(seconds[1]))
