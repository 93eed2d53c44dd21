#include <vector>

#include "bind.h"
#include "kernels.h"

namespace flow {

// The arrays of one argument of adamw, held while the kernel runs.
template <class T>
struct Arrays {
  std::vector<Array<T>> held;
  std::vector<T*> data;

  Arrays(nb::sequence arrays, const char* name, size_t expected) {
    const size_t n = nb::len(arrays);
    if (n != expected)
      value_error(std::string(name) + " has " + std::to_string(n) + " arrays, expected " + std::to_string(expected) +
                  ", one for each of params");
    held.reserve(n);
    data.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      nb::object array = arrays[i];
      Array<T> a;
      if (!nb::try_cast(array, a, false)) a = take<T>(array, element(name, i).c_str());
      held.push_back(std::move(a));
      data.push_back(held.back().data());
    }
  }

  static std::string element(const char* name, size_t i) { return std::string(name) + "[" + std::to_string(i) + "]"; }

  template <class P>
  void expect_shapes(const char* name, const Arrays<P>& params) const {
    for (size_t i = 0; i < held.size(); ++i)
      expect_shape(held[i], element(name, i).c_str(), params.held[i], element("params", i).c_str());
  }
};

static void bound_adamw(nb::sequence params_, nb::sequence grads_, nb::sequence exp_avgs_, nb::sequence exp_avg_sqs_,
                        double lr, double beta1, double beta2, double eps, double weight_decay, int64_t step,
                        double grad_scale) {
  const size_t n = nb::len(params_);
  Arrays<float> params(params_, "params", n);
  Arrays<const float> grads(grads_, "grads", n);
  grads.expect_shapes("grads", params);
  Arrays<float> exp_avgs(exp_avgs_, "exp_avgs", n);
  exp_avgs.expect_shapes("exp_avgs", params);
  Arrays<float> exp_avg_sqs(exp_avg_sqs_, "exp_avg_sqs", n);
  exp_avg_sqs.expect_shapes("exp_avg_sqs", params);
  if (step < 1)
    value_error("step is " + std::to_string(step) + ", expected 1 for the first step, 2 for the next, and so on");
  for (auto [beta, name] : {std::pair{beta1, "beta1"}, std::pair{beta2, "beta2"}})
    if (!(beta >= 0 && beta < 1))
      value_error(std::string(name) + " is " + std::to_string(beta) + ", expected 0 <= " + name + " < 1");
  std::vector<int64_t> sizes(n);
  for (size_t i = 0; i < n; ++i) sizes[i] = params.held[i].size();
  nb::gil_scoped_release release;
  adamw(n, params.data.data(), grads.data.data(), exp_avgs.data.data(), exp_avg_sqs.data.data(), sizes.data(),
        adamw_constants(lr, beta1, beta2, eps, weight_decay, static_cast<double>(step), grad_scale));
}

void bind_optimizer(nb::module_& m) {
  m.def("adamw", bound_adamw, nb::arg("params"), nb::arg("grads"), nb::arg("exp_avgs"), nb::arg("exp_avg_sqs"),
        nb::arg("lr"), nb::arg("beta1"), nb::arg("beta2"), nb::arg("eps"), nb::arg("weight_decay"), nb::arg("step"),
        nb::arg("grad_scale"));
}

}  // namespace flow
