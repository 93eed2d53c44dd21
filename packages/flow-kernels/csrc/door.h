// The checks between Python and the kernels: an array is taken as it is or refused, never converted or copied.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace flow {
namespace nb = nanobind;

// A dense array in native byte order. T const: read only.
template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

template <class T>
constexpr const char* dtype_name = std::is_same_v<std::remove_const_t<T>, float> ? "float32" : "int64";

inline std::string text(nb::handle h) { return nb::str(h).c_str(); }

template <class A>
std::string shape_text(const A& a, size_t dims) {
  std::string s = "(";
  for (size_t d = 0; d < dims; ++d) s += (d ? ", " : "") + std::to_string(a.shape(d));
  return s + (dims == 1 ? ",)" : ")");
}

template <class A>
std::string shape_text(const A& a) {
  return shape_text(a, a.ndim());
}

[[noreturn]] inline void value_error(const std::string& what) { throw nb::value_error(what.c_str()); }
[[noreturn]] inline void type_error(const std::string& what) { throw nb::type_error(what.c_str()); }

// Why `h` is not an array of that dtype that a kernel can use.
[[noreturn]] inline void refuse(nb::handle h, const std::string& name, const std::string& dtype) {
  if (!nb::hasattr(h, "dtype") || !nb::hasattr(h, "flags"))
    type_error(name + " is a " + text(h.type().attr("__name__")) + ", expected a numpy array of " + dtype);
  const std::string given = text(h.attr("dtype"));
  if (given != dtype)
    type_error(name + " has dtype " + given + ", expected " + dtype + "; convert it with " + name + ".astype('" +
               dtype + "')");
  const std::string shape = text(h.attr("shape"));
  if (!nb::cast<bool>(h.attr("flags").attr("c_contiguous")))
    value_error(name + " of shape " + shape + " has strides " + text(h.attr("strides")) +
                ", expected a C-contiguous array; copy it with numpy.ascontiguousarray(" + name + ")");
  if (!nb::cast<bool>(h.attr("flags").attr("writeable")))
    value_error(name + " of shape " + shape + " is read-only, expected an array to write to");
  type_error(name + " of shape " + shape + " is not an array in CPU memory");
}

template <class T>
Array<T> take(nb::handle h, const char* name) {
  Array<T> a;
  if (!nb::try_cast(h, a, false)) refuse(h, name, dtype_name<T>);
  if (reinterpret_cast<uintptr_t>(a.data()) % alignof(T))
    value_error(std::string(name) + " does not begin at a multiple of " + std::to_string(alignof(T)) +
                " bytes; copy it with " + name + ".copy()");
  return a;
}

// None gives an array whose data is null.
template <class T>
Array<T> take_or_none(nb::handle h, const char* name) {
  return h.is_none() ? Array<T>() : take<T>(h, name);
}

// `a` has the shape of the first `dims` dims of `like`.
template <class A, class B>
void expect_shape(const A& a, const char* name, const B& like, size_t dims, const char* like_name) {
  bool same = a.ndim() == dims;
  for (size_t d = 0; same && d < dims; ++d) same = a.shape(d) == like.shape(d);
  if (same) return;
  std::string what = std::string(name) + " has shape " + shape_text(a) + ", expected " + shape_text(like, dims) + ": ";
  what += dims == like.ndim() ? "that" : "the leading dims";
  value_error(what + " of " + like_name + (dims == like.ndim() ? "" : ", of shape " + shape_text(like)));
}

template <class A, class B>
void expect_shape(const A& a, const char* name, const B& like, const char* like_name) {
  expect_shape(a, name, like, like.ndim(), like_name);
}

// `a` is a vector as long as the last dim of `like`; an array that was None passes.
template <class A, class B>
void expect_vector(const A& a, const char* name, const B& like, const char* like_name) {
  if (!a.is_valid() || (a.ndim() == 1 && a.shape(0) == like.shape(like.ndim() - 1))) return;
  value_error(std::string(name) + " has shape " + shape_text(a) + ", expected (" +
              std::to_string(like.shape(like.ndim() - 1)) + ",): the last dim of " + like_name + ", of shape " +
              shape_text(like));
}

// An output may be an input, from its first element on; but what overlaps partly would be read after it was written.
template <class A, class B>
void expect_apart(const A& out, const char* name, const B& in, const char* in_name) {
  const uintptr_t o = reinterpret_cast<uintptr_t>(out.data()), i = reinterpret_cast<uintptr_t>(in.data());
  const bool overlap = o < i + in.nbytes() && i < o + out.nbytes();
  if (overlap && (o != i || out.nbytes() != in.nbytes()))
    value_error(std::string(name) + " overlaps " + in_name +
                " in part; give it memory of its own, or exactly that of " + in_name);
}

// The last dim of an array are the columns of a matrix, all dims before it its rows.
struct Matrix {
  int64_t rows, cols;
};

template <class A>
Matrix matrix(const A& a, const char* name, size_t least_dims, int64_t least_cols) {
  if (a.ndim() < least_dims)
    value_error(std::string(name) + " has shape " + shape_text(a) + ", expected at least " +
                std::to_string(least_dims) + (least_dims == 1 ? " dim" : " dims"));
  const int64_t cols = a.shape(a.ndim() - 1);
  if (cols < least_cols)
    value_error(std::string(name) + " has shape " + shape_text(a) + ", expected a last dim of at least " +
                std::to_string(least_cols));
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < a.ndim(); ++d) rows *= a.shape(d);
  return {rows, cols};
}

}  // namespace flow
