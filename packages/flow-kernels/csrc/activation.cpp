#include "kernels.h"
#include "level.h"
#include "pool.h"

namespace flow {

void gelu_forward(const float* x, int64_t size, float* y) {
  parallel_for(size, grain_for(1),
               [&](int64_t begin, int64_t end) { level().gelu_forward(x + begin, end - begin, y + begin); });
}

void gelu_backward(const float* dy, const float* x, int64_t size, float* dx) {
  parallel_for(size, grain_for(1), [&](int64_t begin, int64_t end) {
    level().gelu_backward(dy + begin, x + begin, end - begin, dx + begin);
  });
}

void gelu_tanh_forward(const float* x, int64_t size, float* y) {
  parallel_for(size, grain_for(1),
               [&](int64_t begin, int64_t end) { level().gelu_tanh_forward(x + begin, end - begin, y + begin); });
}

void gelu_tanh_backward(const float* dy, const float* x, int64_t size, float* dx) {
  parallel_for(size, grain_for(1), [&](int64_t begin, int64_t end) {
    level().gelu_tanh_backward(dy + begin, x + begin, end - begin, dx + begin);
  });
}

}  // namespace flow
