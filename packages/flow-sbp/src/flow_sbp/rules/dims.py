"""Words for the dims of a rule's tensors."""


def names(x, letter="d"):
    """A factor for each dim of x."""
    return [f"{letter}{i}" for i in range(len(x.shape))]


def text(inputs, outputs):
    """A rule's text from the factors of its tensors."""
    return " -> ".join(", ".join(" ".join(dims) for dims in side) for side in (inputs, outputs))


def local_shape(attrs, ins, outs, rank):
    """Attributes whose `shape` is the output's, as this rank's part of it has it."""
    return {**attrs, "shape": outs[0].local_shape(rank)}
