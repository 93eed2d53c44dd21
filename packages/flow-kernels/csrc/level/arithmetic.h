// exp, the normal distribution and sums, as every level computes them: with + - * / alone, in one order, so that a
// wider vector changes no bit. Everything here is static: a weak symbol of one level would be linked into another.
#pragma once
#include <cstdint>
#include <cstring>

#define FLOW_INLINE static inline __attribute__((always_inline))

namespace flow {
namespace {

FLOW_INLINE float from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
FLOW_INLINE uint32_t to_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// exp(x) with a relative error of 1e-7 at most, roundings included (8.1e-8 is the largest found over 4 million x);
// 0 where the result would be subnormal, inf past 88.72, NaN for NaN. Cephes expf (S. Moshier): exp(x) = 2^n exp(r),
// |r| <= log(2) / 2, r in two steps.
FLOW_INLINE float exp32(float x) {
  const float round = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  float c = x < -87.33654f ? -87.33654f : x;
  c = c > 88.72283f ? 88.72283f : c;
  float shifted = c * 1.44269504088896341f + round;
  float n = shifted - round;
  float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // 2^n in two factors, for n = 128 has no float of its own.
  uint32_t whole = to_bits(shifted) - to_bits(round);
  uint32_t half = static_cast<uint32_t>(static_cast<int32_t>(whole) >> 1);
  float y = p * from_bits((half + 127u) << 23) * from_bits((whole - half + 127u) << 23);
  y = x < -87.33654f ? 0.0f : y;
  return x > 88.72283f ? __builtin_inff() : y;
}

// Sums up to 1024 floats in 32 lanes: element i goes to lane i % 32, then lanes fold in halves.
constexpr int64_t kBlock = 1024;
typedef float Lanes __attribute__((vector_size(64)));

FLOW_INLINE float sum_block(const float* x, int64_t n) {
  Lanes a = {}, b = {};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    Lanes p, q;
    std::memcpy(&p, x + i, sizeof p);
    std::memcpy(&q, x + i + 16, sizeof q);
    a += p;
    b += q;
  }
  float lanes[32];
  std::memcpy(lanes, &a, sizeof a);
  std::memcpy(lanes + 16, &b, sizeof b);
  for (int64_t l = 0; i + l < n; ++l) lanes[l] += x[i + l];
  for (int width = 16; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

// The sum over i of term(i): blocks in float32, the blocks' sums in float64. So the error is at most some 40 roundings
// of float32, however long the row.
template <class Term>
FLOW_INLINE double sum(int64_t n, Term term) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    float terms[kBlock];
    int64_t size = n - begin < kBlock ? n - begin : kBlock;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) terms[i] = term(begin + i);
    total += sum_block(terms, size);
  }
  return total;
}

// The largest element, NaN left aside; -inf for none.
FLOW_INLINE float maximum(const float* x, int64_t n) {
  float m = -__builtin_inff();
#pragma omp simd reduction(max : m)
  for (int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

}  // namespace
}  // namespace flow
