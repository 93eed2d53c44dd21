#include <memory>

#include "bind.h"
#include "kernels.h"

namespace flow {

static void bound_layer_norm(nb::handle x_, nb::handle weight_, nb::handle bias_, double eps, nb::handle y_,
                             nb::handle mean_, nb::handle rstd_) {
  auto x = take<const float>(x_, "x");
  const auto [rows, cols] = matrix(x, "x", 1, 1);
  auto weight = take_or_none<const float>(weight_, "weight");
  expect_vector(weight, "weight", x, "x");
  auto bias = take_or_none<const float>(bias_, "bias");
  expect_vector(bias, "bias", x, "x");
  auto y = take<float>(y_, "y");
  expect_shape(y, "y", x, "x");
  expect_apart(y, "y", x, "x");
  auto mean = take<float>(mean_, "mean");
  expect_shape(mean, "mean", x, x.ndim() - 1, "x");
  auto rstd = take<float>(rstd_, "rstd");
  expect_shape(rstd, "rstd", x, x.ndim() - 1, "x");
  nb::gil_scoped_release release;
  layer_norm_forward(x.data(), weight.data(), bias.data(), static_cast<float>(eps), rows, cols, y.data(), mean.data(),
                     rstd.data());
}

static void bound_layer_norm_backward(nb::handle dy_, nb::handle x_, nb::handle weight_, nb::handle mean_,
                                      nb::handle rstd_, nb::handle dx_, nb::handle dweight_, nb::handle dbias_) {
  auto x = take<const float>(x_, "x");
  const auto [rows, cols] = matrix(x, "x", 1, 1);
  auto dy = take<const float>(dy_, "dy");
  expect_shape(dy, "dy", x, "x");
  auto weight = take_or_none<const float>(weight_, "weight");
  expect_vector(weight, "weight", x, "x");
  auto mean = take<const float>(mean_, "mean");
  expect_shape(mean, "mean", x, x.ndim() - 1, "x");
  auto rstd = take<const float>(rstd_, "rstd");
  expect_shape(rstd, "rstd", x, x.ndim() - 1, "x");
  auto dx = take<float>(dx_, "dx");
  expect_shape(dx, "dx", x, "x");
  expect_apart(dx, "dx", x, "x");
  expect_apart(dx, "dx", dy, "dy");
  auto dweight = take_or_none<float>(dweight_, "dweight");
  expect_vector(dweight, "dweight", x, "x");
  auto dbias = take_or_none<float>(dbias_, "dbias");
  expect_vector(dbias, "dbias", x, "x");
  nb::gil_scoped_release release;
  std::unique_ptr<float[]> workspace;
  if (dweight.is_valid() || dbias.is_valid()) workspace.reset(new float[layer_norm_backward_chunks(rows) * 2 * cols]);
  layer_norm_backward(dy.data(), x.data(), weight.data(), mean.data(), rstd.data(), rows, cols, dx.data(),
                      dweight.data(), dbias.data(), workspace.get());
}

void bind_norm(nb::module_& m) {
  m.def("layer_norm", bound_layer_norm, given("x"), given("weight"), given("bias"), nb::arg("eps"), given("y"),
        given("mean"), given("rstd"));
  m.def("layer_norm_backward", bound_layer_norm_backward, given("dy"), given("x"), given("weight"), given("mean"),
        given("rstd"), given("dx"), given("dweight"), given("dbias"));
}

}  // namespace flow
