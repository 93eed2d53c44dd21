// One AdamW step over a span of one tensor.
#pragma once
#include "kernels.h"
#include "level/arithmetic.h"

namespace flow {
namespace {

// The operations of PyTorch's single-tensor AdamW in their order, each rounded as there: mul, lerp, addcmul, addcdiv.
void adamw_span(float* param, const float* grad, float* exp_avg, float* exp_avg_sq, int64_t size,
                const AdamW& constants) {
  const AdamW k = constants;
  // As torch.lerp: from the nearer end.
  const bool near_start = k.beta1_weight < 0.5f;
  const float toward = near_start ? k.beta1_weight : 1.0f - k.beta1_weight;
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float g = grad[i] * k.grad_scale;
    const float m = near_start ? exp_avg[i] + toward * (g - exp_avg[i]) : g - (g - exp_avg[i]) * toward;
    const float v = exp_avg_sq[i] * k.beta2 + k.beta2_weight * g * g;
    const float denom = __builtin_sqrtf(v) / k.sqrt_correction2 + k.eps;
    param[i] = param[i] * k.decay + -k.step_size * m / denom;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
  }
}

}  // namespace
}  // namespace flow
