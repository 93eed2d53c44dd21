// The inner loops of the kernels, on one thread, for one instruction set; and the choice among the sets.
#pragma once
#include <cstdint>

#include "kernels.h"

namespace flow {

// A function of the same name as a kernel is that kernel without threads.
struct Level {
  void (*layer_norm_forward)(const float* x, const float* weight, const float* bias, float eps, int64_t rows, int64_t cols,
                             float* y, float* mean, float* rstd);
  // Adds the rows' part of the gradients into dweight and dbias, which may be null.
  void (*layer_norm_backward_add)(const float* dy, const float* x, const float* weight, const float* mean,
                                  const float* rstd, int64_t rows, int64_t cols, float* dx, float* dweight, float* dbias);
  // out[c] = sum over r of x[r * stride + c], in the order of r.
  void (*sum_rows)(const float* x, int64_t rows, int64_t stride, int64_t cols, float* out);
};

// The level in use: the highest that this CPU has, or the one that FLOW_KERNELS_ISA names.
const Level& level();
const char* level_name();

// Reads FLOW_KERNELS_ISA. Throws std::invalid_argument where it names no level, or one that this CPU has not.
void init_level();

// Calls visit(name) for the levels that this CPU has, lowest first.
void visit_levels(void (*visit)(void* context, const char* name), void* context);

}  // namespace flow
