#include "bind.h"
#include "kernels.h"

namespace flow {

// The rows of a causal block; 0 where the softmax is not causal.
template <class A>
int64_t queries(const A& a, bool causal) {
  return causal ? a.shape(a.ndim() - 2) : 0;
}

static void bound_softmax(nb::handle x_, bool causal, nb::handle y_) {
  auto x = take<const float>(x_, "x");
  const auto [rows, cols] = matrix(x, "x", causal ? 2 : 1, 0);
  auto y = take<float>(y_, "y");
  expect_shape(y, "y", x, "x");
  expect_apart(y, "y", x, "x");
  nb::gil_scoped_release release;
  softmax_forward(x.data(), rows, cols, queries(x, causal), y.data());
}

static void bound_softmax_backward(nb::handle dy_, nb::handle y_, bool causal, nb::handle dx_) {
  auto y = take<const float>(y_, "y");
  const auto [rows, cols] = matrix(y, "y", causal ? 2 : 1, 0);
  auto dy = take<const float>(dy_, "dy");
  expect_shape(dy, "dy", y, "y");
  auto dx = take<float>(dx_, "dx");
  expect_shape(dx, "dx", y, "y");
  expect_apart(dx, "dx", y, "y");
  expect_apart(dx, "dx", dy, "dy");
  nb::gil_scoped_release release;
  softmax_backward(dy.data(), y.data(), rows, cols, queries(y, causal), dx.data());
}

void bind_softmax(nb::module_& m) {
  m.def("softmax", bound_softmax, given("x"), nb::arg("causal"), given("y"));
  m.def("softmax_backward", bound_softmax_backward, given("dy"), given("y"), nb::arg("causal"), given("dx"));
}

}  // namespace flow
