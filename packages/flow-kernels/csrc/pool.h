// A small pool of threads: it spins briefly, then sleeps; it starts with the first large piece of work, and survives a
// fork.
#pragma once
#include <cstdint>

namespace flow {

// Calls body(context, begin, end) on disjoint ranges that cover [0, count), each at most `grain` long and, but for the
// last, exactly that: the ranges do not depend on the number of threads. Runs in the calling thread where there is one
// range only, or where the pool is at work for someone else.
void parallel_ranges(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context);

template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  parallel_ranges(
      count, grain, [](void* b, int64_t begin, int64_t end) { (*static_cast<Body*>(b))(begin, end); }, &body);
}

// How many items, of so many elements each, make a range worth a thread's while.
inline int64_t grain_for(int64_t elements_per_item) {
  constexpr int64_t small = 32768;
  return elements_per_item >= small ? 1 : small / (elements_per_item > 0 ? elements_per_item : 1);
}

int get_num_threads();
void set_num_threads(int n);  // n >= 1; takes effect with the next kernel

// Reads FLOW_NUM_THREADS, or counts the cores that this process may use. Throws std::invalid_argument where it is no
// count.
void init_num_threads();

}  // namespace flow
