#include "ops/pointwise/pointwise.hpp"

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "op/operands.hpp"
#include "ops/pointwise/result_strides.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

void check_domain(const Call& c, const Formula& f, DType common) {
  INGOT_REQUIRE(f.rows[static_cast<std::size_t>(compute_type(common))], "\"", c.op.schema.name, "\" not implemented for '",
                scalar_type_name(common), "'");
}

}  // namespace

void pointwise_meta(const Call& c, Outputs& out) {
  const Formula& f = *c.op.def->formula(c);
  const auto ops = formula_operands(c, f);
  std::vector<Tensor> tensors;
  Shape sizes;
  for (const Value* v : ops) {
    if (!v->is_tensor()) continue;
    sizes = tensors.empty() ? v->tensor().sizes() : broadcast_shapes(sizes, v->tensor().sizes(), c.op.schema.name);
    tensors.push_back(v->tensor());
  }
  const DType common = common_dtype(f, ops);
  check_domain(c, f, common);
  Geometry g;
  g.strides = elementwise_strides(sizes, tensors);
  g.sizes = std::move(sizes);
  g.dtype = result_dtype(f, common);
  out.add(std::move(g));
}

void pointwise_kernel(const Call& c, std::span<const Tensor> results) {
  constexpr int64_t kChunk = 512;
  constexpr std::size_t kMaxArity = 8;
  const Formula& f = *c.op.def->formula(c);
  const auto ops = formula_operands(c, f);
  const DType common = common_dtype(f, ops);
  check_domain(c, f, common);
  const Compute compute = compute_type(common);
  const auto index = static_cast<std::size_t>(compute);
  const Formula::Row row = f.rows[index];
  const Compute out_compute = f.result[index];
  const Tensor& out = results[0];
  const DType out_dtype = out.dtype();

  const std::vector<int64_t> sizes = out.sizes().values();
  std::vector<Walked> walk{walked(out, sizes)};
  struct Operand {
    DType dtype;
    Compute compute;
    int walk;            // index into the walk, or -1 for a number
    bool native;         // stored in the compute type: read in place when dense
    std::vector<char> splat;
  };
  std::vector<Operand> in;
  INGOT_ENSURE(ops.size() <= kMaxArity);
  for (std::size_t k = 0; k < ops.size(); k++) {
    Operand o{};
    o.compute = (f.bool_operands >> k) & 1 ? Compute::b8 : compute;
    if (ops[k]->is_tensor()) {
      const Tensor& t = ops[k]->tensor();
      o.dtype = t.dtype();
      o.walk = static_cast<int>(walk.size());
      o.native = compute_type(o.dtype) == o.compute && size_of(o.dtype) == size_of(o.compute);
      walk.push_back(walked(t, sizes));
    } else {
      o.walk = -1;
      o.splat.resize(static_cast<std::size_t>(kChunk * size_of(o.compute)));
      const Scalar s = ops[k]->to_scalar();
      auto fill = [&]<class T>(T v) { std::fill_n(reinterpret_cast<T*>(o.splat.data()), kChunk, v); };
      switch (o.compute) {
        case Compute::f32: fill(static_cast<float>(s.to_double())); break;
        case Compute::f64: fill(s.to_double()); break;
        case Compute::i64: fill(s.to_int().value()); break;
        case Compute::b8: fill(s.to_bool()); break;
        case Compute::c128: fill(s.to_complex()); break;
      }
    }
    in.push_back(std::move(o));
  }
  const bool out_native = compute_type(out_dtype) == out_compute && size_of(out_dtype) == size_of(out_compute);

  walk_rows(sizes, std::move(walk), true, [&](char* const* p, const int64_t* stride, int64_t n) {
    alignas(64) char buffers[kMaxArity][kChunk * 16];
    alignas(64) char result[kChunk * 16];
    const void* src[kMaxArity];
    for (int64_t b = 0; b < n; b += kChunk) {
      const int64_t m = std::min(kChunk, n - b);
      for (std::size_t k = 0; k < in.size(); k++) {
        const Operand& o = in[k];
        if (o.walk < 0) {
          src[k] = o.splat.data();
          continue;
        }
        const char* from = p[o.walk] + b * stride[o.walk] * size_of(o.dtype);
        if (o.native && (stride[o.walk] == 1 || m == 1)) {
          src[k] = from;
        } else {
          load_row(o.dtype, from, stride[o.walk], m, o.compute, buffers[k]);
          src[k] = buffers[k];
        }
      }
      char* to = p[0] + b * stride[0] * size_of(out_dtype);
      if (out_native && (stride[0] == 1 || m == 1)) {
        row(to, src, m);
      } else {
        row(result, src, m);
        store_row(out_compute, result, m, out_dtype, to, stride[0]);
      }
    }
  });
}

}  // namespace ingot
