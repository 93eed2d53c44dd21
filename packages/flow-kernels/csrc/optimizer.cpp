#include <algorithm>
#include <cmath>

#include "kernels.h"
#include "level.h"
#include "pool.h"

namespace flow {

AdamW adamw_constants(double lr, double beta1, double beta2, double eps, double weight_decay, double step,
                      double grad_scale) {
  auto f32 = [](double x) { return static_cast<float>(x); };
  return {f32(1 - lr * weight_decay),
          f32(1 - beta1),
          f32(beta2),
          f32(1 - beta2),
          f32(std::sqrt(1 - std::pow(beta2, step))),
          f32(eps),
          f32(lr / (1 - std::pow(beta1, step))),
          f32(grad_scale)};
}

void adamw(int64_t num_tensors, float* const* params, const float* const* grads, float* const* exp_avgs,
           float* const* exp_avg_sqs, const int64_t* sizes, const AdamW& constants) {
  int64_t total = 0;
  for (int64_t t = 0; t < num_tensors; ++t) total += sizes[t];
  // The tensors, laid end to end, are cut into ranges, so that many small ones cost no more than one large one.
  parallel_for(total, grain_for(1), [&](int64_t begin, int64_t end) {
    int64_t start = 0;  // of tensor t
    for (int64_t t = 0; start < end; start += sizes[t++]) {
      const int64_t first = std::max(begin - start, int64_t{0}), last = std::min(end - start, sizes[t]);
      if (first < last)
        level().adamw(params[t] + first, grads[t] + first, exp_avgs[t] + first, exp_avg_sqs[t] + first, last - first,
                      constants);
    }
  });
}

}  // namespace flow
