// One function for each file of kernels, that adds them to the extension module.
#pragma once
#include "door.h"

namespace flow {

void bind_norm(nb::module_& m);

}  // namespace flow
