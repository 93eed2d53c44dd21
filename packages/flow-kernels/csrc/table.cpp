#include "table.h"

#include "kernels.h"

namespace flow {
namespace {

// Buffer i, as what it holds.
inline float* f32(void* const* buffers, int64_t i) { return static_cast<float*>(buffers[i]); }
inline const int64_t* i64(void* const* buffers, int64_t i) { return static_cast<const int64_t*>(buffers[i]); }

int64_t adamw_entry(void* const* b, const int64_t* d, const double* a) {
  // An array of float* is read from one of void*: compiled without strict aliasing.
  const int64_t n = d[0];
  float* const* params = reinterpret_cast<float* const*>(b);
  const float* const* grads = reinterpret_cast<const float* const*>(b + n);
  adamw(n, params, grads, params + 2 * n, params + 3 * n, d + 1,
        adamw_constants(a[0], a[1], a[2], a[3], a[4], a[5], a[6]));
  return 0;
}

int64_t cross_entropy_backward_entry(void* const* b, const int64_t* d, const double*) {
  return 1 + cross_entropy_backward(f32(b, 0), f32(b, 1), i64(b, 2), f32(b, 3), d[2], d[0], d[1], f32(b, 4));
}

int64_t cross_entropy_forward_entry(void* const* b, const int64_t* d, const double*) {
  return 1 + cross_entropy_forward(f32(b, 0), i64(b, 1), d[2], d[0], d[1], f32(b, 2), f32(b, 3));
}

int64_t gelu_backward_entry(void* const* b, const int64_t* d, const double*) {
  gelu_backward(f32(b, 0), f32(b, 1), d[0], f32(b, 2));
  return 0;
}

int64_t gelu_forward_entry(void* const* b, const int64_t* d, const double*) {
  gelu_forward(f32(b, 0), d[0], f32(b, 1));
  return 0;
}

int64_t gelu_tanh_backward_entry(void* const* b, const int64_t* d, const double*) {
  gelu_tanh_backward(f32(b, 0), f32(b, 1), d[0], f32(b, 2));
  return 0;
}

int64_t gelu_tanh_forward_entry(void* const* b, const int64_t* d, const double*) {
  gelu_tanh_forward(f32(b, 0), d[0], f32(b, 1));
  return 0;
}

int64_t layer_norm_backward_entry(void* const* b, const int64_t* d, const double*) {
  layer_norm_backward(f32(b, 0), f32(b, 1), f32(b, 2), f32(b, 3), f32(b, 4), d[0], d[1], f32(b, 5), f32(b, 6),
                      f32(b, 7), f32(b, 8));
  return 0;
}

int64_t layer_norm_forward_entry(void* const* b, const int64_t* d, const double* a) {
  layer_norm_forward(f32(b, 0), f32(b, 1), f32(b, 2), static_cast<float>(a[0]), d[0], d[1], f32(b, 3), f32(b, 4),
                     f32(b, 5));
  return 0;
}

int64_t softmax_backward_entry(void* const* b, const int64_t* d, const double*) {
  softmax_backward(f32(b, 0), f32(b, 1), d[0], d[1], d[2], f32(b, 2));
  return 0;
}

int64_t softmax_forward_entry(void* const* b, const int64_t* d, const double*) {
  softmax_forward(f32(b, 0), d[0], d[1], d[2], f32(b, 1));
  return 0;
}

}  // namespace

const KernelEntry kernel_table[] = {
    {"adamw", adamw_entry,
     "inout param[i] f32[size[i]] for i < n, grad[i] f32[size[i]] for i < n, inout exp_avg[i] f32[size[i]] for i < n, "
     "inout exp_avg_sq[i] f32[size[i]] for i < n; n, size[i] for i < n; lr, beta1, beta2, eps, weight_decay, step, "
     "grad_scale"},
    {"cross_entropy_backward", cross_entropy_backward_entry,
     "dloss f32[rows], logits f32[rows,classes], targets i64[rows], lse f32[rows], out dlogits f32[rows,classes]; "
     "rows, classes, ignore_index; "},
    {"cross_entropy_forward", cross_entropy_forward_entry,
     "logits f32[rows,classes], targets i64[rows], out loss f32[rows], out lse f32[rows]; rows, classes, "
     "ignore_index; "},
    {"gelu_backward", gelu_backward_entry, "dy f32[size], x f32[size], out dx f32[size]; size; "},
    {"gelu_forward", gelu_forward_entry, "x f32[size], out y f32[size]; size; "},
    {"gelu_tanh_backward", gelu_tanh_backward_entry, "dy f32[size], x f32[size], out dx f32[size]; size; "},
    {"gelu_tanh_forward", gelu_tanh_forward_entry, "x f32[size], out y f32[size]; size; "},
    {"layer_norm_backward", layer_norm_backward_entry,
     "dy f32[rows,cols], x f32[rows,cols], weight f32[cols]?, mean f32[rows], rstd f32[rows], out dx f32[rows,cols], "
     "out dweight f32[cols]?, out dbias f32[cols]?, scratch workspace f32[min(rows,32),2,cols]; rows, cols; "},
    {"layer_norm_forward", layer_norm_forward_entry,
     "x f32[rows,cols], weight f32[cols]?, bias f32[cols]?, out y f32[rows,cols], out mean f32[rows], out rstd "
     "f32[rows]; "
     "rows, cols; eps"},
    {"softmax_backward", softmax_backward_entry,
     "dy f32[rows,cols], y f32[rows,cols], out dx f32[rows,cols]; rows, cols, queries; "},
    {"softmax_forward", softmax_forward_entry, "x f32[rows,cols], out y f32[rows,cols]; rows, cols, queries; "},
};
const size_t kernel_table_size = sizeof kernel_table / sizeof *kernel_table;

}  // namespace flow
