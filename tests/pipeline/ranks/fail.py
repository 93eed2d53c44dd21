"""Rank 1 fails, in an act or between two runs; nobody may reach the end."""

import sys

from flow_pipeline import Runtime, plan_of, schedule
from flow_sbp.mpi import MpiComm


def fail(error: Exception):
    raise error


comm = MpiComm()
stage = comm.rank
functions = {f"F{stage}": lambda mb, *x: (mb, mb), f"BW{stage}": lambda mb, *inputs: mb, "out": lambda mb, y: y}
if sys.argv[1] == "act" and stage == 1:
    functions["BW1"] = lambda mb, *inputs: fail(ValueError("the weights are gone")) if mb == 2 else mb
with Runtime(plan_of(schedule("1f1b", comm.size, 4)), functions, comm) as runtime:
    for step in range(3):
        runtime.run()
        if sys.argv[1] == "step" and step == 1 and stage == 1:
            raise OSError("no more disk")
print("not reached")
