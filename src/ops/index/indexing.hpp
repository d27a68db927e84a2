// Reads and writes of elements whose place is in index tensors: the one pair of loops under index,
// gather, scatter, index_add, take, embedding and their kin.
#pragma once
#include <complex>
#include <functional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "op/op.hpp"
#include "tensor/rows.hpp"

namespace ingot {

// What element of a base tensor each point of an iteration space stands for:
//   base[sum_d point[d] * base_strides[d] + sum_k index_k(point) * stride_k]
// Everything is in plain numbers: eager kernels only.
struct Indexing {
  struct Part {
    Tensor index;                // int64
    std::vector<int64_t> walk;   // its strides over the iteration space
    int64_t size, stride;        // of the base's dim it looks into
    int64_t dim;                 // for messages
  };
  std::vector<int64_t> sizes;         // of the iteration space
  std::vector<int64_t> base_strides;  // 0 along dims that only index tensors decide
  std::vector<Part> parts;
  bool wraps = false;                 // -1 means the last element
};

// The iteration space is `index`, point for point (gather, scatter). A 0-dim base counts as one
// with one element.
Indexing index_elements(const Tensor& base, int64_t dim, const Tensor& index);
// The iteration space is base with `dim` replaced by the elements of `index` (index_select,
// index_add).
Indexing index_slices(const Tensor& base, int64_t dim, const Tensor& index);
// The iteration space is `index`, into the elements of a contiguous base in row-major order (take,
// put).
Indexing index_flat(const Tensor& base, const Tensor& index);

// out[point] = base[point's element]; out has the sizes of the iteration space. An index outside
// its dim is an IndexError.
void read_indexed(const Indexing& ix, const Tensor& base, const Tensor& out);

enum class Combine : uint8_t { assign, add, multiply, maximum, minimum };
Combine combine_of(std::string_view reduce,
                   std::string_view op);  // "sum", "add", "prod", "multiply", "amax", "amin", "mean" (adds)

// base[point's element] = combine(itself, source[point]), in row-major order of points. source
// broadcasts to the iteration space and has base's dtype; other than `assign` needs a dtype that is
// computed in (compute_dtype).
void write_indexed(const Indexing& ix, const Tensor& base, const Tensor& source, Combine combine);

// The error of an index that is out of bounds, also where no element is read by it.
void require_in_bounds(const Indexing& ix);

// The dtype of a compute type: what elements are combined in.
DType compute_dtype(DType t);

// result = self with source (a tensor or a number) combined into the elements that index(buffer)
// names; the buffer is a contiguous copy of self.
// PyTorch keeps the sums of some of these ops in the result's dtype, so that every one of them is
// rounded (index_put, put, the gradient of embedding), and those of others in a wider one
// (scatter): in bfloat16 that is a difference.
enum class SumsAre : uint8_t { wide, rounded };
void combine_indexed(const Tensor& result, const Tensor& self, const Value& source, Combine combine,
                     const std::function<Indexing(const Tensor&)>& index, SumsAre sums = SumsAre::wide);
// The same for a reduction by name; without include_self an element that is written at all forgets
// its own value.
void reduce_indexed(const Tensor& result, const Tensor& self, const Tensor& source, std::string_view reduce, bool include_self,
                    const std::function<Indexing(const Tensor&)>& index);

// Calls f with a value as wide as an element: for moves that need not know the type.
struct Bytes16 {
  uint64_t half[2];
};
template <class F>
void on_bytes(int64_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Bytes16{});
  }
}
// Calls f with a value of a compute dtype.
template <class F>
void on_compute_dtype(DType t, const F& f) {
  switch (t) {
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::i64: return f(int64_t{});
    case DType::b8: return f(bool{});
    case DType::c128: return f(std::complex<double>{});
    default: throw_internal_error(__FILE__, __LINE__, text("elements are not combined in ", t));
  }
}

// The dims of `sizes` as an operand of one of these ops has them: a 0-dim tensor counts as [1].
inline Shape at_least_1d(const Shape& sizes) { return sizes.empty() ? Shape{1} : sizes; }
void require_index_dtype(std::string_view op, const Tensor& index);  // int32 or int64

}  // namespace ingot
