// Cross entropy, forward and backward, by rows. Targets have been checked before.
#pragma once
#include <cmath>

#include "level/arithmetic.h"

namespace flow {
namespace {

void cross_entropy_forward_rows(const float* logits, const int64_t* targets, int64_t ignore_index, int64_t rows,
                                int64_t classes, float* loss, float* lse) {
  for (int64_t r = 0; r < rows; ++r, logits += classes) {
    const float* x = logits;
    const float peak = maximum(x, classes);
    // An infinite peak must not be subtracted from itself.
    const float shift = __builtin_isinf(peak) ? 0.0f : peak;
    const double logarithm = std::log(sum(classes, [=](int64_t c) { return exp32(x[c] - shift); }));
    lse[r] = static_cast<float>(shift + logarithm);
    // Not from the rounded lse: near 1e4 it has lost what a small loss consists of.
    const bool kept = targets[r] != ignore_index;
    loss[r] = kept ? static_cast<float>(logarithm - (static_cast<double>(x[targets[r]]) - shift)) : 0.0f;
  }
}

void cross_entropy_backward_rows(const float* dloss, const float* logits, const int64_t* targets, const float* lse,
                                 int64_t ignore_index, int64_t rows, int64_t classes, float* dlogits) {
  for (int64_t r = 0; r < rows; ++r, logits += classes, dlogits += classes) {
    const bool kept = targets[r] != ignore_index;
    const float d = dloss[r], l = lse[r];
    // Before dlogits, which may be logits itself.
    const float at_target = kept ? (exp32(logits[targets[r]] - l) - 1.0f) * d : 0.0f;
    if (kept) {
#pragma omp simd
      for (int64_t c = 0; c < classes; ++c) dlogits[c] = exp32(logits[c] - l) * d;
      dlogits[targets[r]] = at_target;
    } else {
#pragma omp simd
      for (int64_t c = 0; c < classes; ++c) dlogits[c] = 0.0f;
    }
  }
}

}  // namespace
}  // namespace flow
