// Softmax, forward and backward, by rows; causal where queries > 0.
#pragma once
#include "level/arithmetic.h"

namespace flow {
namespace {

// How many columns the row numbered `row` sees.
FLOW_INLINE int64_t seen_cols(int64_t row, int64_t cols, int64_t queries) {
  if (queries == 0) return cols;
  const int64_t seen = row % queries + 1 + cols - queries;
  return seen > 0 ? seen : 0;
}

void softmax_forward_rows(const float* x_, int64_t first_row, int64_t rows, int64_t cols, int64_t queries, float* y_) {
  for (int64_t r = first_row; r < first_row + rows; ++r, x_ += cols, y_ += cols) {
    const float* x = x_;
    float* y = y_;
    const int64_t seen = seen_cols(r, cols, queries);
    const float peak = maximum(x, seen);
#pragma omp simd
    for (int64_t c = 0; c < seen; ++c) y[c] = exp32(x[c] - peak);
    const float scale = static_cast<float>(1.0 / sum(seen, [=](int64_t c) { return y[c]; }));
#pragma omp simd
    for (int64_t c = 0; c < seen; ++c) y[c] *= scale;
#pragma omp simd
    for (int64_t c = seen; c < cols; ++c) y[c] = 0.0f;
  }
}

void softmax_backward_rows(const float* dy_, const float* y_, int64_t first_row, int64_t rows, int64_t cols,
                           int64_t queries, float* dx_) {
  for (int64_t r = first_row; r < first_row + rows; ++r, dy_ += cols, y_ += cols, dx_ += cols) {
    const float *dy = dy_, *y = y_;
    float* dx = dx_;
    const int64_t seen = seen_cols(r, cols, queries);
    const float dot = static_cast<float>(sum(seen, [=](int64_t c) { return dy[c] * y[c]; }));
#pragma omp simd
    for (int64_t c = 0; c < seen; ++c) dx[c] = y[c] * (dy[c] - dot);
#pragma omp simd
    for (int64_t c = seen; c < cols; ++c) dx[c] = 0.0f;
  }
}

}  // namespace
}  // namespace flow
