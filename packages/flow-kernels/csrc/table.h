// Every kernel by its name, as a C function of one signature: a native executor walks a list of such calls without
// Python.
#pragma once
#include <cstddef>
#include <cstdint>

namespace flow {

// Returns 0; or, where a target is out of range, 1 + the row of the first such target, and then nothing is written.
using KernelFunction = int64_t (*)(void* const* buffers, const int64_t* dims, const double* attrs);

struct KernelEntry {
  const char* name;
  KernelFunction function;
  // "buffers; dims; attrs", each in the order of the arrays. A buffer is `name dtype[dims]`: `?` after it, it may be
  // null; `out` before it, it is written; `inout`, read and written; `scratch`, its content means nothing.
  const char* signature;
};

// In alphabetical order.
extern const KernelEntry kernel_table[];
extern const size_t kernel_table_size;

}  // namespace flow
