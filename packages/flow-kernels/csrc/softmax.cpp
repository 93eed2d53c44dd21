#include "kernels.h"
#include "level.h"
#include "pool.h"

namespace flow {

void softmax_forward(const float* x, int64_t rows, int64_t cols, int64_t queries, float* y) {
  parallel_for(rows, grain_for(cols), [&](int64_t begin, int64_t end) {
    level().softmax_forward(x + begin * cols, begin, end - begin, cols, queries, y + begin * cols);
  });
}

void softmax_backward(const float* dy, const float* y, int64_t rows, int64_t cols, int64_t queries, float* dx) {
  parallel_for(rows, grain_for(cols), [&](int64_t begin, int64_t end) {
    level().softmax_backward(dy + begin * cols, y + begin * cols, begin, end - begin, cols, queries, dx + begin * cols);
  });
}

}  // namespace flow
