// One function for each file of kernels, that adds them to the extension module.
#pragma once
#include "door.h"

namespace flow {

// An argument that reaches the checks of door.h whatever it is, None too: their errors say more than nanobind's.
inline auto given(const char* name) { return nb::arg(name).none(); }

void bind_activation(nb::module_& m);
void bind_loss(nb::module_& m);
void bind_norm(nb::module_& m);
void bind_optimizer(nb::module_& m);
void bind_softmax(nb::module_& m);

}  // namespace flow
