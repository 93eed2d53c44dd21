"""Run a plan: `execute` on one rank through its communicator, `simulate` on all of a plan's ranks in this process.

Both drive the same generator, which packs, sends, receives and adds, and yields each request that it has to wait for.
"""

import numpy as np

from flow_sbp.comm import agree
from flow_sbp.dtype import dtype_of
from flow_sbp.plan import Plan
from flow_sbp.program import program
from flow_sbp.reduction import Fold, neutral
from flow_sbp.shards import check_shard
from flow_sbp.sim import World


def execute(plan, shard, comm, *, check=True):
    """What this rank holds after the plan, given what it held before (None outside the destination, the source).

    Every rank of both placements calls this with the same plan; other ranks may. check=True first tells all of them
    whether every shard fits, so that all raise the same ValueError before any data is sent; check=False is for shards
    that fit by construction (one that does not then aborts the communicator).
    """
    _check_plan(plan)
    if max(plan.ranks) >= comm.size:
        raise ValueError(
            f"{plan.src} -> {plan.dst} uses ranks up to {max(plan.ranks)}, but the communicator has {comm.size} ranks; "
            f"start more ranks or use a smaller placement"
        )
    if comm.rank not in plan.ranks:
        return None
    words, problem = _words(plan, comm.rank, shard)
    if check:
        agree(comm, plan.ranks, problem)
    elif problem:
        comm.abort(problem)
    running = _run(plan, comm.rank, words, comm)
    while True:
        try:
            next(running).wait()
        except StopIteration as end:
            return _like(end.value, shard)


def simulate(plan, shards, *, world=None):
    """What the destination's ranks hold after the plan, from what the source's hold; both in their placement's order.

    world: a sim.World to run in, whose `bytes_sent` then tells what travelled. ValueError / TypeError if a shard does
    not fit.
    """
    _check_plan(plan)
    ranks = plan.src.placement.ranks
    if len(shards) != len(ranks):
        raise ValueError(f"{plan.src.placement!r} has {len(ranks)} ranks, got {len(shards)} shards")
    words = {rank: check_shard(piece, plan.src, rank) for rank, piece in zip(ranks, shards, strict=True)}
    world = world or World(max(plan.ranks) + 1)
    running = {rank: _run(plan, rank, words.get(rank), world.comm(rank)) for rank in plan.ranks}
    waiting, held = dict.fromkeys(running), {}
    while running:
        moved = False
        for rank in list(running):
            if waiting[rank] is not None and not waiting[rank].test():
                continue
            moved = True
            try:
                waiting[rank] = next(running[rank])
            except StopIteration as end:
                held[rank] = end.value
                del running[rank]
        assert moved, "the plan is stuck: " + "; ".join(f"rank {rank} waits {waiting[rank]}" for rank in running)
    return [_like(held[rank], shards[0]) for rank in plan.dst.placement.ranks]


def _check_plan(plan):
    if not isinstance(plan, Plan):
        raise TypeError(f"expected a Plan, as flow_sbp.plan(src, dst) makes it, got {plan!r}")


def _words(plan, rank, shard):
    """(the shard as words, what is wrong with it or None)."""
    if rank not in plan.src.placement:
        wrong = f"a shard was given, but the source {plan.src!r} does not include this rank; give None"
        return None, None if shard is None else wrong
    if shard is None:
        return None, f"no shard was given, but {plan.src} has one of shape {plan.src.local_shape(rank)} here"
    try:
        return check_shard(shard, plan.src, rank), None
    except (TypeError, ValueError) as error:
        return None, str(error)


def _like(words, shard):
    """bf16 comes back as it was given: as words, or as ml_dtypes' array."""
    return words if words is None or shard is None else words.view(np.asarray(shard).dtype)


def _run(plan, rank, words, comm):
    """Generator: does this rank's part, yields the requests to wait for, returns the destination's shard or None."""
    dtype = dtype_of(plan.src.dtype)
    out = np.empty(plan.dst.local_shape(rank), dtype.words) if rank in plan.dst.placement else None
    for tag, part in enumerate(program(plan, rank)):
        for before, after, op in part.inside:
            out[after] = words[before] if part.kind == "keep" else neutral(op, dtype)
        if part.rounds:
            yield from _exchange(part, words if part.kind == "send" else out, out, comm, tag)
        if part.sends or part.receives:
            yield from _add(part, plan.addends, words, out, comm, tag, dtype)
    return out


def _exchange(part, source, out, comm, tag):
    """Round by round one message out and one in."""
    for sent, received in part.rounds:
        requests = []
        if received:
            target = out[received.boxes[0]]
            direct = len(received.boxes) == 1 and target.flags.c_contiguous
            buffer = target.reshape(-1) if direct else np.empty(received.size, out.dtype)
            requests.append(comm.irecv(buffer, received.peer, tag))
        if sent:
            requests.append(comm.isend(_pack(source, sent), sent.peer, tag))
        yield from requests
        if received and not direct:
            for box, piece in _pieces(out, received, buffer):
                out[box] = piece


def _add(part, addends, words, out, comm, tag, dtype):
    """Hand out this rank's addends, then combine what it owns, one peer's addends after the other in their order."""
    sending = [comm.isend(_pack(words, message), message.peer, tag) for message in part.sends]
    buffer = np.empty(max((m.size for m in part.receives if not m.taken[0]), default=0), dtype.words)
    folds = {}
    for message in part.receives:
        if message.taken[0]:
            addend = [(box, words[taken]) for box, taken in zip(message.boxes, message.taken, strict=True)]
        else:
            yield comm.irecv(buffer[: message.size], message.peer, tag)
            addend = _pieces(out, message, buffer)
        for box, piece in addend:
            key = tuple((s.start, s.stop) for s in box[:-1])
            if key not in folds:
                folds[key] = Fold(addends, out[box], dtype)
            folds[key].add(piece)
    yield from sending


def _pack(array, message):
    """The message's boxes one after the other as a flat array; without a copy where that is what memory holds."""
    if len(message.boxes) == 1:
        return np.ascontiguousarray(array[message.boxes[0]]).reshape(-1)
    return np.concatenate([array[box].reshape(-1) for box in message.boxes])


def _pieces(out, message, buffer):
    """(index, array of its shape) for each box of a received message."""
    at = 0
    for box, size in zip(message.boxes, message.sizes, strict=True):
        yield box, buffer[at : at + size].reshape(out[box].shape)
        at += size
