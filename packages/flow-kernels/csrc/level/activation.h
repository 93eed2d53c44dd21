// GELU by the normal distribution function, and by tanh, forward and backward.
#pragma once
#include "level/arithmetic.h"

namespace flow {
namespace {

// Phi(-a) for a >= 0, from e = exp(-a^2 / 2): e * t * p(t) with t = 1 / (1 + a * 9/32), the form of Hastings
// (Abramowitz & Stegun 7.1.26, for erfc). p is the polynomial of degree 9 that makes the largest relative error on 0 <=
// a <= 14 least (Lawson's iteration on Phi(-a) / (e * t)): 8.2e-9 in exact arithmetic, 4e-7 with the roundings of
// float32 (3.8e-7 is the largest found over 4 million a), to which e adds its own: 1e-7, and 6e-8 * a^2 / 2 for the
// rounding of a^2 / 2.
FLOW_INLINE float lower_tail(float a, float e) {
  const float t = 1.0f / (1.0f + a * 0.28125f);
  float p = -0.01390133146f;
  p = p * t + 0.09566396475f;
  p = p * t - 0.2468190491f;
  p = p * t + 0.2769162953f;
  p = p * t - 0.1456969231f;
  p = p * t + 0.1389518529f;
  p = p * t + 0.06365862489f;
  p = p * t + 0.1071922034f;
  p = p * t + 0.1118150502f;
  p = p * t + 0.1122193262f;
  return e * t * p;
}

void gelu_forward_span(const float* x, int64_t size, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float v = x[i];
    const float tail = lower_tail(__builtin_fabsf(v), exp32(-0.5f * v * v));
    y[i] = v * (v < 0.0f ? tail : 1.0f - tail);
  }
}

void gelu_backward_span(const float* dy, const float* x, int64_t size, float* dx) {
  const float inverse_sqrt_2pi = 0.39894228040143268f;
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float v = x[i];
    const float e = exp32(-0.5f * v * v);
    const float tail = lower_tail(__builtin_fabsf(v), e);
    dx[i] = dy[i] * ((v < 0.0f ? tail : 1.0f - tail) + v * (e * inverse_sqrt_2pi));
  }
}

// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), u = sqrt(2 / pi) * (x + 0.044715 x^3), from e = exp(-2 |u|), which cannot
// overflow. Past |x| = 16, e is 0; the clamp keeps x^3 finite.
struct Gate {
  float x, e, gate;
};
FLOW_INLINE Gate tanh_gate(float x) {
  float c = x < -16.0f ? -16.0f : x;
  c = c > 16.0f ? 16.0f : c;
  const float u2 = 1.5957691216057308f * (c + 0.044715f * c * c * c);
  const float e = exp32(-__builtin_fabsf(u2));
  return {c, e, (u2 < 0.0f ? e : 1.0f) / (1.0f + e)};
}

void gelu_tanh_forward_span(const float* x, int64_t size, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float v = x[i];
    y[i] = v * tanh_gate(v).gate;
  }
}

void gelu_tanh_backward_span(const float* dy, const float* x, int64_t size, float* dx) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const Gate g = tanh_gate(x[i]);
    const float du2 = 1.5957691216057308f * (1.0f + 0.134145f * g.x * g.x);
    const float one_and_e = 1.0f + g.e;
    dx[i] = dy[i] * (g.gate + g.x * (g.e / (one_and_e * one_and_e)) * du2);
  }
}

}  // namespace
}  // namespace flow
