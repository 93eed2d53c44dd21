"""Tensors, ops, devices and random numbers."""

from flow_core import fft as fft
from flow_core import linalg as linalg
from flow_core import masked as masked
from flow_core import signal as signal
from flow_core import special as special
from flow_core.device import Device as Device
from flow_core.dtype import bfloat16 as bfloat16
from flow_core.dtype import bool_ as bool  # noqa: F401
from flow_core.dtype import complex64 as complex64
from flow_core.dtype import complex128 as complex128
from flow_core.dtype import float16 as float16
from flow_core.dtype import float32 as float32
from flow_core.dtype import float64 as float64
from flow_core.dtype import int8 as int8
from flow_core.dtype import int16 as int16
from flow_core.dtype import int32 as int32
from flow_core.dtype import int64 as int64
from flow_core.dtype import promote_types as promote_types
from flow_core.dtype import uint8 as uint8
from flow_core.dtype import uint16 as uint16
from flow_core.dtype import uint32 as uint32
from flow_core.dtype import uint64 as uint64
from flow_core.functions.algebra import *  # noqa: F403
from flow_core.functions.arithmetic import *  # noqa: F403
from flow_core.functions.complex import *  # noqa: F403
from flow_core.functions.copies import *  # noqa: F403
from flow_core.functions.creation import *  # noqa: F403
from flow_core.functions.door import guard as _guard
from flow_core.functions.draws import *  # noqa: F403
from flow_core.functions.facts import *  # noqa: F403
from flow_core.functions.grids import *  # noqa: F403
from flow_core.functions.indexing import *  # noqa: F403
from flow_core.functions.layouts import *  # noqa: F403
from flow_core.functions.noise import *  # noqa: F403
from flow_core.functions.normalization import *  # noqa: F403
from flow_core.functions.pointwise import *  # noqa: F403
from flow_core.functions.reduction import *  # noqa: F403
from flow_core.functions.renaming import *  # noqa: F403
from flow_core.functions.running import *  # noqa: F403
from flow_core.functions.shapes import *  # noqa: F403
from flow_core.functions.space import *  # noqa: F403
from flow_core.functions.statistics import *  # noqa: F403
from flow_core.interchange import as_tensor as as_tensor
from flow_core.interchange import asarray as asarray
from flow_core.interchange import from_dlpack as from_dlpack
from flow_core.interchange import frombuffer as frombuffer
from flow_core.op import OPS as OPS
from flow_core.op import Checked as Checked
from flow_core.op import InPlaceOp as InPlaceOp
from flow_core.op import Op as Op
from flow_core.op import interceptor as interceptor
from flow_core.op import recorder as recorder
from flow_core.operators import attach as attach
from flow_core.ops.attention import attention as attention
from flow_core.ops.attention import attention_backward as attention_backward
from flow_core.ops.binary import atan2 as atan2
from flow_core.ops.binary import bitwise_and as bitwise_and
from flow_core.ops.binary import bitwise_left_shift as bitwise_left_shift
from flow_core.ops.binary import bitwise_or as bitwise_or
from flow_core.ops.binary import bitwise_right_shift as bitwise_right_shift
from flow_core.ops.binary import bitwise_xor as bitwise_xor
from flow_core.ops.binary import copysign as copysign
from flow_core.ops.binary import floor_divide as floor_divide
from flow_core.ops.binary import fmax as fmax
from flow_core.ops.binary import fmin as fmin
from flow_core.ops.binary import fmod as fmod
from flow_core.ops.binary import gcd as gcd
from flow_core.ops.binary import hypot as hypot
from flow_core.ops.binary import lcm as lcm
from flow_core.ops.binary import logaddexp as logaddexp
from flow_core.ops.binary import logaddexp2 as logaddexp2
from flow_core.ops.binary import logical_and as logical_and
from flow_core.ops.binary import logical_or as logical_or
from flow_core.ops.binary import logical_xor as logical_xor
from flow_core.ops.binary import nextafter as nextafter
from flow_core.ops.binary import remainder as remainder
from flow_core.ops.conv import conv as conv
from flow_core.ops.conv import conv_input as conv_input
from flow_core.ops.conv import conv_weight as conv_weight
from flow_core.ops.elementwise import abs as abs
from flow_core.ops.elementwise import add as add
from flow_core.ops.elementwise import cast as cast
from flow_core.ops.elementwise import div as div
from flow_core.ops.elementwise import eq as eq
from flow_core.ops.elementwise import erf as erf
from flow_core.ops.elementwise import exp as exp
from flow_core.ops.elementwise import ge as ge
from flow_core.ops.elementwise import gt as gt
from flow_core.ops.elementwise import le as le
from flow_core.ops.elementwise import log as log
from flow_core.ops.elementwise import lt as lt
from flow_core.ops.elementwise import maximum as maximum
from flow_core.ops.elementwise import minimum as minimum
from flow_core.ops.elementwise import mul as mul
from flow_core.ops.elementwise import ne as ne
from flow_core.ops.elementwise import neg as neg
from flow_core.ops.elementwise import pow as pow
from flow_core.ops.elementwise import rsqrt as rsqrt
from flow_core.ops.elementwise import sigmoid as sigmoid
from flow_core.ops.elementwise import sqrt as sqrt
from flow_core.ops.elementwise import sub as sub
from flow_core.ops.elementwise import tanh as tanh
from flow_core.ops.index import add_rows as add_rows
from flow_core.ops.index import slice_backward as slice_backward
from flow_core.ops.index import take_rows as take_rows
from flow_core.ops.inplace import adamw_ as adamw_
from flow_core.ops.linalg import linear as linear
from flow_core.ops.linalg import linear_input as linear_input
from flow_core.ops.linalg import linear_weight as linear_weight
from flow_core.ops.linalg import matmul as matmul
from flow_core.ops.nn import cross_entropy_rows as cross_entropy_rows
from flow_core.ops.nn import cross_entropy_rows_backward as cross_entropy_rows_backward
from flow_core.ops.nn import gelu as gelu
from flow_core.ops.nn import gelu_backward as gelu_backward
from flow_core.ops.nn import layer_norm as layer_norm
from flow_core.ops.nn import layer_norm_backward as layer_norm_backward
from flow_core.ops.nn import log_softmax as log_softmax
from flow_core.ops.nn import softmax as softmax
from flow_core.ops.pool import spread_windows as spread_windows
from flow_core.ops.pool import window_sum as window_sum
from flow_core.ops.random import dropout_mask as dropout_mask
from flow_core.ops.random import integers as integers
from flow_core.ops.random import uniform as uniform
from flow_core.ops.reduce import all as all
from flow_core.ops.reduce import amax as amax
from flow_core.ops.reduce import amin as amin
from flow_core.ops.reduce import any as any
from flow_core.ops.reduce import argmax as argmax
from flow_core.ops.reduce import mean as mean
from flow_core.ops.reduce import sum as sum
from flow_core.ops.reduce import sum_of_squares as sum_of_squares
from flow_core.ops.shape import cat as cat
from flow_core.ops.shape import chunk as chunk
from flow_core.ops.shape import expand as expand
from flow_core.ops.shape import flatten as flatten
from flow_core.ops.shape import permute as permute
from flow_core.ops.shape import reshape as reshape
from flow_core.ops.shape import split as split
from flow_core.ops.shape import squeeze as squeeze
from flow_core.ops.shape import stack as stack
from flow_core.ops.shape import transpose as transpose
from flow_core.ops.shape import unbind as unbind
from flow_core.ops.shape import unsqueeze as unsqueeze
from flow_core.ops.unary import acos as acos
from flow_core.ops.unary import acosh as acosh
from flow_core.ops.unary import asin as asin
from flow_core.ops.unary import asinh as asinh
from flow_core.ops.unary import atan as atan
from flow_core.ops.unary import atanh as atanh
from flow_core.ops.unary import ceil as ceil
from flow_core.ops.unary import cos as cos
from flow_core.ops.unary import cosh as cosh
from flow_core.ops.unary import erfc as erfc
from flow_core.ops.unary import erfinv as erfinv
from flow_core.ops.unary import exp2 as exp2
from flow_core.ops.unary import expm1 as expm1
from flow_core.ops.unary import floor as floor
from flow_core.ops.unary import isfinite as isfinite
from flow_core.ops.unary import isinf as isinf
from flow_core.ops.unary import isnan as isnan
from flow_core.ops.unary import lgamma as lgamma
from flow_core.ops.unary import log1p as log1p
from flow_core.ops.unary import log2 as log2
from flow_core.ops.unary import log10 as log10
from flow_core.ops.unary import logical_not as logical_not
from flow_core.ops.unary import reciprocal as reciprocal
from flow_core.ops.unary import rint as rint
from flow_core.ops.unary import sign as sign
from flow_core.ops.unary import signbit as signbit
from flow_core.ops.unary import sin as sin
from flow_core.ops.unary import sinh as sinh
from flow_core.ops.unary import softplus as softplus
from flow_core.ops.unary import tan as tan
from flow_core.ops.unary import trunc as trunc
from flow_core.ops.window import add_windows as add_windows
from flow_core.ops.window import pick as pick
from flow_core.ops.window import place as place
from flow_core.ops.window import window_argmax as window_argmax
from flow_core.ops.window import windows as windows
from flow_core.random import *  # noqa: F403
from flow_core.saving import load as load
from flow_core.saving import save as save
from flow_core.spec import TensorSpec as TensorSpec
from flow_core.tensor import Tensor as Tensor
from flow_core.tensor import from_numpy as from_numpy
from flow_core.tensor import tensor as tensor

# isort: split
# Built on the names above.
from flow_core import array_api as array_api

# Functions of ops take what is no tensor for one until it fails them: they are guarded, ops themselves need not be.
globals().update(_guard(globals()))
