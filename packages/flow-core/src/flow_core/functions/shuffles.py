"""Channels exchanged for pixels, and with each other."""

from flow_core.ops.shape import permute, reshape
from flow_core.spec import as_count


def positive(name, argument, number):
    """`number` as an int above 0."""
    number = as_count(name, argument, number)
    if not number:
        raise ValueError(f"{name}: {argument} is 0, expected 1 or more")
    return number


def require_images(name, x):
    if x.ndim < 3:
        raise ValueError(f"{name}: {x.spec} must have 3 dims at least: channels, height and width")


def pixel_shuffle(x, upscale_factor):
    """(*, channels r r, height, width) as (*, channels, height r, width r), r the factor. Shi and others, 1609.05158."""
    r = positive("pixel_shuffle", "upscale_factor", upscale_factor)
    require_images("pixel_shuffle", x)
    *lead, channels, height, width = x.shape
    if channels % (r * r):
        raise ValueError(f"pixel_shuffle: the {channels} channels of {x.spec} are no multiple of {r} squared")
    apart = reshape(x, shape=(*lead, channels // (r * r), r, r, height, width))
    n = len(lead)
    moved = permute(apart, dims=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(moved, shape=(*lead, channels // (r * r), height * r, width * r))


def pixel_unshuffle(x, downscale_factor):
    """(*, channels, height r, width r) as (*, channels r r, height, width), r the factor: pixel_shuffle undone."""
    r = positive("pixel_unshuffle", "downscale_factor", downscale_factor)
    require_images("pixel_unshuffle", x)
    *lead, channels, height, width = x.shape
    if height % r or width % r:
        raise ValueError(f"pixel_unshuffle: height and width of {x.spec} are no multiples of {r}")
    apart = reshape(x, shape=(*lead, channels, height // r, r, width // r, r))
    n = len(lead)
    moved = permute(apart, dims=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(moved, shape=(*lead, channels * r * r, height // r, width // r))


def channel_shuffle(x, groups):
    """(batch, groups k, *) with the channels of the groups dealt out in turn. Zhang and others, 1707.01083, section 3.1."""
    groups = positive("channel_shuffle", "groups", groups)
    require_images("channel_shuffle", x)
    batch, channels, *rest = x.shape
    if channels % groups:
        raise ValueError(f"channel_shuffle: the {channels} channels of {x.spec} are no multiple of {groups} groups")
    apart = reshape(x, shape=(batch, groups, channels // groups, *rest))
    return reshape(permute(apart, dims=(0, 2, 1, *range(3, apart.ndim))), shape=x.shape)


native_channel_shuffle = channel_shuffle

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]
