"""The Python array API standard, version 2024.12, over flow's tensors: `x.__array_namespace__()`.

Its names, arguments and rules are the standard's, where flow_core's own follow PyTorch. What is differentiable there is so here.
"""

import math as _math
import sys as _sys

from flow_core import dtype as _dtype
from flow_core.array_api import elementwise as _elementwise
from flow_core.array_api import fft as fft
from flow_core.array_api import linalg as linalg
from flow_core.array_api.creation import arange as arange
from flow_core.array_api.creation import asarray as asarray
from flow_core.array_api.creation import empty as empty
from flow_core.array_api.creation import empty_like as empty_like
from flow_core.array_api.creation import eye as eye
from flow_core.array_api.creation import from_dlpack as from_dlpack
from flow_core.array_api.creation import full as full
from flow_core.array_api.creation import full_like as full_like
from flow_core.array_api.creation import linspace as linspace
from flow_core.array_api.creation import meshgrid as meshgrid
from flow_core.array_api.creation import ones as ones
from flow_core.array_api.creation import ones_like as ones_like
from flow_core.array_api.creation import tril as tril
from flow_core.array_api.creation import triu as triu
from flow_core.array_api.creation import zeros as zeros
from flow_core.array_api.creation import zeros_like as zeros_like
from flow_core.array_api.dtypes import STANDARD as _STANDARD
from flow_core.array_api.dtypes import astype as astype
from flow_core.array_api.dtypes import can_cast as can_cast
from flow_core.array_api.dtypes import finfo as finfo
from flow_core.array_api.dtypes import iinfo as iinfo
from flow_core.array_api.dtypes import isdtype as isdtype
from flow_core.array_api.dtypes import result_type as result_type
from flow_core.array_api.info import __array_namespace_info__ as __array_namespace_info__
from flow_core.array_api.linalg import matmul as matmul
from flow_core.array_api.linalg import matrix_transpose as matrix_transpose
from flow_core.array_api.linalg import tensordot as tensordot
from flow_core.array_api.linalg import vecdot as vecdot
from flow_core.array_api.manipulation import broadcast_arrays as broadcast_arrays
from flow_core.array_api.manipulation import broadcast_shapes as broadcast_shapes
from flow_core.array_api.manipulation import broadcast_to as broadcast_to
from flow_core.array_api.manipulation import concat as concat
from flow_core.array_api.manipulation import expand_dims as expand_dims
from flow_core.array_api.manipulation import flip as flip
from flow_core.array_api.manipulation import moveaxis as moveaxis
from flow_core.array_api.manipulation import permute_dims as permute_dims
from flow_core.array_api.manipulation import repeat as repeat
from flow_core.array_api.manipulation import reshape as reshape
from flow_core.array_api.manipulation import roll as roll
from flow_core.array_api.manipulation import squeeze as squeeze
from flow_core.array_api.manipulation import stack as stack
from flow_core.array_api.manipulation import tile as tile
from flow_core.array_api.manipulation import unstack as unstack
from flow_core.array_api.searching import argmax as argmax
from flow_core.array_api.searching import argmin as argmin
from flow_core.array_api.searching import argsort as argsort
from flow_core.array_api.searching import count_nonzero as count_nonzero
from flow_core.array_api.searching import isin as isin
from flow_core.array_api.searching import nonzero as nonzero
from flow_core.array_api.searching import searchsorted as searchsorted
from flow_core.array_api.searching import sort as sort
from flow_core.array_api.searching import take as take
from flow_core.array_api.searching import take_along_axis as take_along_axis
from flow_core.array_api.searching import unique_all as unique_all
from flow_core.array_api.searching import unique_counts as unique_counts
from flow_core.array_api.searching import unique_inverse as unique_inverse
from flow_core.array_api.searching import unique_values as unique_values
from flow_core.array_api.searching import where as where
from flow_core.array_api.statistical import all as all
from flow_core.array_api.statistical import any as any
from flow_core.array_api.statistical import cumulative_prod as cumulative_prod
from flow_core.array_api.statistical import cumulative_sum as cumulative_sum
from flow_core.array_api.statistical import diff as diff
from flow_core.array_api.statistical import max as max
from flow_core.array_api.statistical import mean as mean
from flow_core.array_api.statistical import min as min
from flow_core.array_api.statistical import prod as prod
from flow_core.array_api.statistical import std as std
from flow_core.array_api.statistical import sum as sum
from flow_core.array_api.statistical import var as var
from flow_core.tensor import Tensor as _Tensor

globals().update({name: getattr(_elementwise, name) for name in _elementwise.NAMES}, **_STANDARD)
float16, bfloat16 = _dtype.float16, _dtype.bfloat16  # beside the standard's
e, inf, nan, newaxis, pi = _math.e, _math.inf, _math.nan, None, _math.pi

__array_api_version__ = "2024.12"


def _namespace(self, /, *, api_version=None):
    """The module of the Python array API standard's functions. ValueError for a version that it does not have."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", __array_api_version__):
        raise ValueError(f"api_version is {api_version!r}, expected {__array_api_version__} or an older one")
    return _sys.modules[__name__]


_Tensor.__array_namespace__ = _namespace
