#include <algorithm>

#include "kernels.h"
#include "level.h"
#include "pool.h"

namespace flow {

void layer_norm_forward(const float* x, const float* weight, const float* bias, float eps, int64_t rows, int64_t cols,
                        float* y, float* mean, float* rstd) {
  parallel_for(rows, grain_for(cols), [&](int64_t begin, int64_t end) {
    level().layer_norm_forward(x + begin * cols, weight, bias, eps, end - begin, cols, y + begin * cols, mean + begin,
                               rstd + begin);
  });
}

int64_t layer_norm_backward_chunks(int64_t rows) { return std::min<int64_t>(rows, 32); }

void layer_norm_backward(const float* dy, const float* x, const float* weight, const float* mean, const float* rstd,
                         int64_t rows, int64_t cols, float* dx, float* dweight, float* dbias, float* workspace) {
  const int64_t chunks = layer_norm_backward_chunks(rows);
  // chunks * rows / chunks differs by at most one row from chunk to chunk.
  auto first_row = [&](int64_t chunk) { return rows * chunk / chunks; };
  const int64_t grain = chunks ? std::max<int64_t>(1, grain_for(cols * (rows / chunks))) : 1;
  parallel_for(chunks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      // workspace: (chunks, 2, cols)
      float* sums = workspace ? workspace + chunk * 2 * cols : nullptr;
      if (sums) std::fill(sums, sums + 2 * cols, 0.0f);
      const int64_t row = first_row(chunk);
      level().layer_norm_backward_add(dy + row * cols, x + row * cols, weight, mean + row, rstd + row,
                                      first_row(chunk + 1) - row, cols, dx + row * cols, dweight ? sums : nullptr,
                                      dbias ? sums + cols : nullptr);
    }
  });
  if (dweight) level().sum_rows(workspace, chunks, 2 * cols, cols, dweight);
  if (dbias) level().sum_rows(workspace + cols, chunks, 2 * cols, cols, dbias);
}

}  // namespace flow
