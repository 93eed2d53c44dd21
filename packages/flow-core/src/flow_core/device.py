"""Where a tensor's data lives. This version computes on the CPU; a request for any other device is an error that says so."""


class Device:
    """A kind of device and its index, as in "cpu". Equal devices are the same object."""

    __slots__ = ("index", "type")

    def __init__(self, type, index=None):
        self.type = type
        self.index = index

    def __repr__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


CPU = Device("cpu")


def as_device(given):
    """The device named by a Device, None (the CPU) or "cpu"; ValueError for a device that cannot be used here."""
    if given is None or given is CPU or given == "cpu":
        return CPU
    raise ValueError(f'device {given!r} cannot be used: this version of flow-core computes on "cpu" alone')
