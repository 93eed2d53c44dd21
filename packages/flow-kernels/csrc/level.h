// The inner loops of the kernels, on one thread, for one instruction set; and the choice among the sets.
#pragma once
#include <cstdint>

#include "kernels.h"

namespace flow {

// A function of the same name as a kernel is that kernel without threads.
struct Level {
  void (*layer_norm_forward)(const float* x, const float* weight, const float* bias, float eps, int64_t rows,
                             int64_t cols, float* y, float* mean, float* rstd);
  // Adds the rows' part of the gradients into dweight and dbias, which may be null.
  void (*layer_norm_backward_add)(const float* dy, const float* x, const float* weight, const float* mean,
                                  const float* rstd, int64_t rows, int64_t cols, float* dx, float* dweight,
                                  float* dbias);
  // out[c] = sum over r of x[r * stride + c], in the order of r.
  void (*sum_rows)(const float* x, int64_t rows, int64_t stride, int64_t cols, float* out);
  // The targets have been checked.
  void (*cross_entropy_forward)(const float* logits, const int64_t* targets, int64_t ignore_index, int64_t rows,
                                int64_t classes, float* loss, float* lse);
  void (*cross_entropy_backward)(const float* dloss, const float* logits, const int64_t* targets, const float* lse,
                                 int64_t ignore_index, int64_t rows, int64_t classes, float* dlogits);
  // A span of one tensor.
  void (*adamw)(float* param, const float* grad, float* exp_avg, float* exp_avg_sq, int64_t size,
                const AdamW& constants);
  void (*gelu_forward)(const float* x, int64_t size, float* y);
  void (*gelu_backward)(const float* dy, const float* x, int64_t size, float* dx);
  void (*gelu_tanh_forward)(const float* x, int64_t size, float* y);
  void (*gelu_tanh_backward)(const float* dy, const float* x, int64_t size, float* dx);
  // The first row given is the one numbered first_row.
  void (*softmax_forward)(const float* x, int64_t first_row, int64_t rows, int64_t cols, int64_t queries, float* y);
  void (*softmax_backward)(const float* dy, const float* y, int64_t first_row, int64_t rows, int64_t cols,
                           int64_t queries, float* dx);
};

// The level in use: the highest that this CPU has, or the one that FLOW_KERNELS_ISA names.
const Level& level();
const char* level_name();

// Reads FLOW_KERNELS_ISA. Throws std::invalid_argument where it names no level, or one that this CPU has not.
void init_level();

// Calls visit(name) for the levels that this CPU has, lowest first.
void visit_levels(void (*visit)(void* context, const char* name), void* context);

}  // namespace flow
