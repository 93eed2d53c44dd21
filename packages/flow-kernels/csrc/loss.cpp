#include "kernels.h"
#include "level.h"
#include "pool.h"

namespace flow {

int64_t find_bad_target(const int64_t* targets, int64_t rows, int64_t classes, int64_t ignore_index) {
  for (int64_t r = 0; r < rows; ++r)
    if (targets[r] != ignore_index && (targets[r] < 0 || targets[r] >= classes)) return r;
  return -1;
}

int64_t cross_entropy_forward(const float* logits, const int64_t* targets, int64_t ignore_index, int64_t rows,
                              int64_t classes, float* loss, float* lse) {
  const int64_t bad = find_bad_target(targets, rows, classes, ignore_index);
  if (bad >= 0) return bad;
  parallel_for(rows, grain_for(classes), [&](int64_t begin, int64_t end) {
    level().cross_entropy_forward(logits + begin * classes, targets + begin, ignore_index, end - begin, classes,
                                  loss + begin, lse + begin);
  });
  return -1;
}

int64_t cross_entropy_backward(const float* dloss, const float* logits, const int64_t* targets, const float* lse,
                               int64_t ignore_index, int64_t rows, int64_t classes, float* dlogits) {
  const int64_t bad = find_bad_target(targets, rows, classes, ignore_index);
  if (bad >= 0) return bad;
  parallel_for(rows, grain_for(classes), [&](int64_t begin, int64_t end) {
    level().cross_entropy_backward(dloss + begin, logits + begin * classes, targets + begin, lse + begin, ignore_index,
                                   end - begin, classes, dlogits + begin * classes);
  });
  return -1;
}

}  // namespace flow
