#include "bind.h"
#include "kernels.h"

namespace flow {

template <auto kernel>
static void bound_forward(nb::handle x_, nb::handle y_) {
  auto x = take<const float>(x_, "x");
  auto y = take<float>(y_, "y");
  expect_shape(y, "y", x, "x");
  expect_apart(y, "y", x, "x");
  nb::gil_scoped_release release;
  kernel(x.data(), x.size(), y.data());
}

template <auto kernel>
static void bound_backward(nb::handle dy_, nb::handle x_, nb::handle dx_) {
  auto x = take<const float>(x_, "x");
  auto dy = take<const float>(dy_, "dy");
  expect_shape(dy, "dy", x, "x");
  auto dx = take<float>(dx_, "dx");
  expect_shape(dx, "dx", x, "x");
  expect_apart(dx, "dx", x, "x");
  expect_apart(dx, "dx", dy, "dy");
  nb::gil_scoped_release release;
  kernel(dy.data(), x.data(), x.size(), dx.data());
}

void bind_activation(nb::module_& m) {
  m.def("gelu", bound_forward<gelu_forward>, given("x"), given("y"));
  m.def("gelu_backward", bound_backward<gelu_backward>, given("dy"), given("x"), given("dx"));
  m.def("gelu_tanh", bound_forward<gelu_tanh_forward>, given("x"), given("y"));
  m.def("gelu_tanh_backward", bound_backward<gelu_tanh_backward>, given("dy"), given("x"), given("dx"));
}

}  // namespace flow
