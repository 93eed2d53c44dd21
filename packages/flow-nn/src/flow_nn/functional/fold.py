"""Images as columns of their windows and back, and channels exchanged for pixels."""

import math

import flow_core as flow
from flow_core import channel_shuffle, native_channel_shuffle, pixel_shuffle, pixel_unshuffle
from flow_nn.functional.geometry import batched, ints, unbatched


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of input (batch, channels, height, width) as columns: (batch, channels * kernel elements, places).

    `input` may lack the batch; the arguments are an int, or one for height and one for width.
    """
    x, single = batched("unfold", input, 2)
    view, kernel = windows_of("unfold", x, kernel_size, dilation, padding, stride)
    batch, channels, *places = view.shape[:4]
    columns = flow.permute(view, dims=(0, 1, 4, 5, 2, 3))
    return unbatched(flow.reshape(columns, shape=(batch, channels * math.prod(kernel), math.prod(places))), single)


def windows_of(name, x, kernel_size, dilation, padding, stride):
    kernel = ints(name, "kernel_size", kernel_size, 2, 1, False)
    attrs = {
        "stride": ints(name, "stride", stride, 2, 1, False),
        "padding": tuple([(p, p) for p in ints(name, "padding", padding, 2, 0, False)]),
        "dilation": ints(name, "dilation", dilation, 2, 1, False),
    }
    return flow.windows(x, kernel=kernel, **attrs), kernel


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns (batch, channels * kernel elements, places) added up where their windows lie: (batch, channels, *output_size).

    `input` may lack the batch. unfold's adjoint. ValueError unless the columns are as many as the windows of an image of that size.
    """
    x, single = batched("fold", input, 1)
    size, kernel = (
        ints("fold", "output_size", output_size, 2, 1, False),
        ints("fold", "kernel_size", kernel_size, 2, 1, False),
    )
    stride, dilation = ints("fold", "stride", stride, 2, 1, False), ints("fold", "dilation", dilation, 2, 1, False)
    padding = ints("fold", "padding", padding, 2, 0, False)
    places = tuple(
        [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, p, d, k, s in zip(size, padding, dilation, kernel, stride, strict=True)
        ]
    )
    if x.shape[1] % math.prod(kernel):
        raise ValueError(
            f"fold: dim 1 of {x.spec} is no multiple of the {math.prod(kernel)} elements of kernel {kernel}"
        )
    if min(places) < 1 or x.shape[2] != math.prod(places):
        raise ValueError(f"fold: {x.spec} has {x.shape[2]} columns, and an image of {size} has {places} windows")
    shape = (x.shape[0], x.shape[1] // math.prod(kernel), *kernel, *places)
    columns = flow.permute(flow.reshape(x, shape=shape), dims=(0, 1, 4, 5, 2, 3))
    ends = tuple([(p, p) for p in padding])
    return unbatched(flow.add_windows(columns, size=size, stride=stride, padding=ends, dilation=dilation), single)


__all__ = ["channel_shuffle", "fold", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "unfold"]
