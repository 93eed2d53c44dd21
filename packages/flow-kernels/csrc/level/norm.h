// Layer norm, forward and backward, by rows.
#pragma once
#include "level/arithmetic.h"

namespace flow {
namespace {

void layer_norm_forward_rows(const float* x, const float* weight, const float* bias, float eps, int64_t rows,
                             int64_t cols, float* y, float* mean, float* rstd) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    // Two passes: the difference of large squares would lose the variance of a row far from zero.
    const float m = static_cast<float>(sum(cols, [=](int64_t c) { return x[c]; }) / cols);
    const double squares = sum(cols, [=](int64_t c) { return (x[c] - m) * (x[c] - m); });
    const float s = static_cast<float>(1.0 / __builtin_sqrt(squares / cols + eps));
    if (weight && bias) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) y[c] = (x[c] - m) * s * weight[c] + bias[c];
    } else if (weight) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) y[c] = (x[c] - m) * s * weight[c];
    } else if (bias) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) y[c] = (x[c] - m) * s + bias[c];
    } else {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) y[c] = (x[c] - m) * s;
    }
    mean[r] = m;
    rstd[r] = s;
  }
}

// With g = dy * weight and h = (x - mean) * rstd: dx = rstd * (g - avg(g) - h * avg(g * h)), dweight = sum of dy * h.
void layer_norm_backward_add_rows(const float* dy, const float* x, const float* weight, const float* mean,
                                  const float* rstd, int64_t rows, int64_t cols, float* dx, float* dweight,
                                  float* dbias) {
  for (int64_t r = 0; r < rows; ++r, x += cols, dy += cols, dx += cols) {
    const float m = mean[r], s = rstd[r];
    // Before dx, which may be dy or x itself.
    if (dweight) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dweight[c] += dy[c] * ((x[c] - m) * s);
    }
    if (dbias) {
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dbias[c] += dy[c];
    }
    if (weight) {
      const float g = static_cast<float>(sum(cols, [=](int64_t c) { return dy[c] * weight[c]; }) / cols);
      const float gh =
          static_cast<float>(sum(cols, [=](int64_t c) { return dy[c] * weight[c] * ((x[c] - m) * s); }) / cols);
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dx[c] = s * (dy[c] * weight[c] - g - (x[c] - m) * s * gh);
    } else {
      const float g = static_cast<float>(sum(cols, [=](int64_t c) { return dy[c]; }) / cols);
      const float gh = static_cast<float>(sum(cols, [=](int64_t c) { return dy[c] * ((x[c] - m) * s); }) / cols);
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) dx[c] = s * (dy[c] - g - (x[c] - m) * s * gh);
    }
  }
}

void sum_rows_in_order(const float* x, int64_t rows, int64_t stride, int64_t cols, float* out) {
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c) out[c] = 0.0f;
  for (int64_t r = 0; r < rows; ++r, x += stride) {
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) out[c] += x[c];
  }
}

}  // namespace
}  // namespace flow
