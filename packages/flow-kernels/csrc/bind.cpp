// The extension module: for each kernel, checks at the door, then the kernel without the GIL. Docstrings are in Python.
#include "bind.h"

#include "level.h"
#include "pool.h"
#include "table.h"

namespace flow {

static nb::tuple supported_levels() {
  nb::list names;
  visit_levels([](void* list, const char* name) { static_cast<nb::list*>(list)->append(name); }, &names);
  return nb::tuple(names);
}

static nb::list table() {
  nb::list entries;
  for (size_t i = 0; i < kernel_table_size; ++i) {
    const KernelEntry& entry = kernel_table[i];
    entries.append(nb::make_tuple(entry.name, reinterpret_cast<uintptr_t>(entry.function), entry.signature));
  }
  return entries;
}

}  // namespace flow

NB_MODULE(_cpu, m) {
  using namespace flow;
  init_level();
  init_num_threads();
  m.def("level_name", level_name);
  m.def("supported_levels", supported_levels);
  m.def("get_num_threads", get_num_threads);
  m.def("set_num_threads", set_num_threads, nb::arg("n"));
  m.def("table", table);
  bind_activation(m);
  bind_loss(m);
  bind_norm(m);
  bind_optimizer(m);
  bind_softmax(m);
}
