// Every kernel: a plain function over buffers of the caller. A kernel allocates nothing and keeps nothing.
// Matrices are dense and row-major. Results have the same bits for any number of threads and at every instruction set.
// An output may be exactly one of the inputs of its own shape (in place), unless said otherwise; it may not overlap one
// partly.
#pragma once
#include <cstdint>

namespace flow {

// y = (x - mean) * rstd * weight + bias by rows, rstd = 1 / sqrt(variance + eps). weight and bias may be null.
void layer_norm_forward(const float* x, const float* weight, const float* bias, float eps, int64_t rows, int64_t cols,
                        float* y, float* mean, float* rstd);

// The rows are cut into so many chunks, whatever the number of threads: dweight and dbias are summed by chunk, then
// over chunks.
int64_t layer_norm_backward_chunks(int64_t rows);

// Gradients of layer_norm_forward. weight, dweight and dbias may be null.
// workspace holds layer_norm_backward_chunks(rows) * 2 * cols floats; it may be null where dweight and dbias are.
void layer_norm_backward(const float* dy, const float* x, const float* weight, const float* mean, const float* rstd,
                         int64_t rows, int64_t cols, float* dx, float* dweight, float* dbias, float* workspace);

// The first row whose target is neither ignore_index nor in [0, classes), or -1 if all are right.
int64_t find_bad_target(const int64_t* targets, int64_t rows, int64_t classes, int64_t ignore_index);

// loss = lse - logits[target], lse = log(sum(exp(logits))) by rows; the loss of an ignored row is 0.
// Returns -1, or the row that find_bad_target finds; then nothing is written.
int64_t cross_entropy_forward(const float* logits, const int64_t* targets, int64_t ignore_index, int64_t rows,
                              int64_t classes, float* loss, float* lse);

// dlogits = (exp(logits - lse) - onehot(target)) * dloss by rows; an ignored row is 0. Returns as cross_entropy_forward
// does.
int64_t cross_entropy_backward(const float* dloss, const float* logits, const int64_t* targets, const float* lse,
                               int64_t ignore_index, int64_t rows, int64_t classes, float* dlogits);

// The constants of one AdamW step, as float32 arithmetic uses them.
struct AdamW {
  float decay;         // 1 - lr * weight_decay
  float beta1_weight;  // 1 - beta1
  float beta2;
  float beta2_weight;      // 1 - beta2
  float sqrt_correction2;  // sqrt(1 - beta2^step)
  float eps;
  float step_size;  // lr / (1 - beta1^step)
  float grad_scale;
};
AdamW adamw_constants(double lr, double beta1, double beta2, double eps, double weight_decay, double step,
                      double grad_scale);

// One AdamW step in place over many tensors; tensor i has sizes[i] elements. No two of the buffers may overlap.
void adamw(int64_t num_tensors, float* const* params, const float* const* grads, float* const* exp_avgs,
           float* const* exp_avg_sqs, const int64_t* sizes, const AdamW& constants);

// y = x * Phi(x), Phi the normal distribution function; and Hendrycks & Gimpel's approximation of it by tanh.
void gelu_forward(const float* x, int64_t size, float* y);
void gelu_backward(const float* dy, const float* x, int64_t size, float* dx);
void gelu_tanh_forward(const float* x, int64_t size, float* y);
void gelu_tanh_backward(const float* dy, const float* x, int64_t size, float* dx);

// y = exp(x) / sum(exp(x)) by rows. Where queries > 0, the rows come in blocks of that many, and row q of a block sees
// columns <= q + cols - queries only: the others are 0, as is a row that sees none.
void softmax_forward(const float* x, int64_t rows, int64_t cols, int64_t queries, float* y);

// dx = y * (dy - sum(dy * y)) by rows, over the columns that the row sees.
void softmax_backward(const float* dy, const float* y, int64_t rows, int64_t cols, int64_t queries, float* dx);

}  // namespace flow
