// The extension module: for each kernel, checks at the door, then the kernel without the GIL. Docstrings are in Python.
#include "bind.h"

#include <nanobind/stl/string.h>

#include "level.h"
#include "pool.h"

namespace flow {

static nb::tuple supported_levels() {
  nb::list names;
  visit_levels([](void* list, const char* name) { static_cast<nb::list*>(list)->append(name); }, &names);
  return nb::tuple(names);
}

}  // namespace flow

NB_MODULE(_cpu, m) {
  using namespace flow;
  init_level();
  init_num_threads();
  m.def("level_name", level_name);
  m.def("supported_levels", supported_levels);
  m.def("get_num_threads", get_num_threads);
  m.def("set_num_threads", set_num_threads);
  bind_norm(m);
}
