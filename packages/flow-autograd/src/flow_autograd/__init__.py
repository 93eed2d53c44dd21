"""Reverse-mode differentiation of flow-core's ops. Importing it makes tensors differentiable."""

import flow_autograd.func
import flow_autograd.rules  # noqa: F401 - it fills the table
from flow_autograd.anomaly import detect_anomaly as detect_anomaly
from flow_autograd.attach import attach as attach
from flow_autograd.backward import backward as backward
from flow_autograd.backward import grad as grad
from flow_autograd.checkpoint import checkpoint as checkpoint
from flow_autograd.checkpoint import keep as keep
from flow_autograd.function import Function as Function
from flow_autograd.mode import enable_grad as enable_grad
from flow_autograd.mode import inference_mode as inference_mode
from flow_autograd.mode import is_grad_enabled as is_grad_enabled
from flow_autograd.mode import no_grad as no_grad
from flow_autograd.mode import set_grad_enabled as set_grad_enabled
from flow_autograd.saved import saved_tensors_hooks as saved_tensors_hooks
from flow_autograd.split import split_backward as split_backward
from flow_autograd.transform import hessian as hessian
from flow_autograd.transform import hvp as hvp
from flow_autograd.transform import jacobian as jacobian
from flow_autograd.transform import jvp as jvp
from flow_autograd.transform import vjp as vjp
from flow_autograd.vjp import NO_VJP as NO_VJP
from flow_autograd.vjp import VJPS as VJPS
from flow_autograd.vjp import defvjp as defvjp
from flow_autograd.vjp import defvjp_joint as defvjp_joint
from flow_autograd.vjp import no_vjp as no_vjp
from flow_autograd.vmap import vmap as vmap
