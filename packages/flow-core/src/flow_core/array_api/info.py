"""What the namespace can do, as its users may ask it."""

from flow_core.array_api.dtypes import KINDS, STANDARD, isdtype
from flow_core.device import CPU, as_device


class Info:
    """The inspection functions of the standard."""

    def capabilities(self):
        """A dict of what the standard leaves open."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The device of tensors that name none."""
        return CPU

    def default_dtypes(self, *, device=None):
        """The dtypes of tensors made of Python numbers, and of indices."""
        as_device(device)
        names = {"real floating": "float32", "complex floating": "complex64", "integral": "int64", "indexing": "int64"}
        return {kind: STANDARD[name] for kind, name in names.items()}

    def dtypes(self, *, device=None, kind=None):
        """The standard's dtypes by name, all or those of a kind, or of a tuple of kinds. ValueError for an unknown kind."""
        as_device(device)
        return {name: d for name, d in STANDARD.items() if isdtype(d, tuple(KINDS) if kind is None else kind)}

    def devices(self):
        """The devices that tensors can live on."""
        return [CPU]


def __array_namespace_info__():
    """The inspection functions."""
    return Info()
