#include "bind.h"
#include "kernels.h"

namespace flow {

static void expect_targets(int64_t bad_row, const int64_t* targets, int64_t classes, int64_t ignore_index) {
  if (bad_row < 0) return;
  value_error("targets has " + std::to_string(targets[bad_row]) + " in row " + std::to_string(bad_row) +
              ", expected 0 to " + std::to_string(classes - 1) + " for " + std::to_string(classes) +
              " classes, or ignore_index = " + std::to_string(ignore_index));
}

static void bound_cross_entropy(nb::handle logits_, nb::handle targets_, int64_t ignore_index, nb::handle loss_,
                                nb::handle lse_) {
  auto logits = take<const float>(logits_, "logits");
  const auto [rows, classes] = matrix(logits, "logits", 1, 1);
  auto targets = take<const int64_t>(targets_, "targets");
  expect_shape(targets, "targets", logits, logits.ndim() - 1, "logits");
  auto loss = take<float>(loss_, "loss");
  expect_shape(loss, "loss", logits, logits.ndim() - 1, "logits");
  auto lse = take<float>(lse_, "lse");
  expect_shape(lse, "lse", logits, logits.ndim() - 1, "logits");
  int64_t bad_row;
  {
    nb::gil_scoped_release release;
    bad_row =
        cross_entropy_forward(logits.data(), targets.data(), ignore_index, rows, classes, loss.data(), lse.data());
  }
  expect_targets(bad_row, targets.data(), classes, ignore_index);
}

static void bound_cross_entropy_backward(nb::handle dloss_, nb::handle logits_, nb::handle targets_, nb::handle lse_,
                                         int64_t ignore_index, nb::handle dlogits_) {
  auto logits = take<const float>(logits_, "logits");
  const auto [rows, classes] = matrix(logits, "logits", 1, 1);
  auto dloss = take<const float>(dloss_, "dloss");
  expect_shape(dloss, "dloss", logits, logits.ndim() - 1, "logits");
  auto targets = take<const int64_t>(targets_, "targets");
  expect_shape(targets, "targets", logits, logits.ndim() - 1, "logits");
  auto lse = take<const float>(lse_, "lse");
  expect_shape(lse, "lse", logits, logits.ndim() - 1, "logits");
  auto dlogits = take<float>(dlogits_, "dlogits");
  expect_shape(dlogits, "dlogits", logits, "logits");
  expect_apart(dlogits, "dlogits", logits, "logits");
  int64_t bad_row;
  {
    nb::gil_scoped_release release;
    bad_row = cross_entropy_backward(dloss.data(), logits.data(), targets.data(), lse.data(), ignore_index, rows,
                                     classes, dlogits.data());
  }
  expect_targets(bad_row, targets.data(), classes, ignore_index);
}

void bind_loss(nb::module_& m) {
  m.def("cross_entropy", bound_cross_entropy, given("logits"), given("targets"), nb::arg("ignore_index"), given("loss"),
        given("lse"));
  m.def("cross_entropy_backward", bound_cross_entropy_backward, given("dloss"), given("logits"), given("targets"),
        given("lse"), nb::arg("ignore_index"), given("dlogits"));
}

}  // namespace flow
