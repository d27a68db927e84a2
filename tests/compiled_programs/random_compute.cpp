#include "compiled_programs/random_compute.hpp"

#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "base/error.hpp"
#include "check/compare.hpp"
#include "compiler/compiled_program.hpp"
#include "op/call.hpp"

namespace ingot::testing {
namespace {

using Kind = ComputeStep::Kind;

const Tensor& pick(const TensorList& l, uint32_t i) { return l[i % l.size()]; }
int64_t rank(const Tensor& t) { return t.dim(); }

Tensor as_float(const Tensor& t) { return t.is_floating_point() ? t : aten<"_to_copy">(t, DType::f32); }
// Values stay where float32 has digits to spare.
Tensor tamed(const Tensor& t) { return t.is_floating_point() ? aten<"tanh">(t) * 2 : t; }

bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a.dim() != b.dim()) return false;
  for (int64_t d = 0; d < a.dim(); d++)
    if (!a.size(d).same(b.size(d))) return false;
  return true;
}
// The operands for a binary op: b as it is where it fits, else one number of it.
std::pair<Tensor, Tensor> matched(const Tensor& a, const Tensor& b) {
  if (same_sizes(a, b) || b.dim() == 0) return {a, b};
  return {a, tamed(aten<"sum">(as_float(b)) * 0.01)};
}

Tensor unary(const Tensor& t, uint32_t how) {
  const Tensor x = as_float(t);
  switch (how % 9) {
    case 0: return aten<"relu">(x);
    case 1: return aten<"exp">(aten<"tanh">(x));
    case 2: return aten<"tanh">(x);
    case 3: return aten<"sigmoid">(x);
    case 4: return aten<"gelu">(x);
    case 5: return aten<"sqrt">(aten<"abs">(x) + 0.5);
    case 6: return aten<"log">(aten<"abs">(x) + 1);
    case 7: return aten<"abs">(x);
    default: return aten<"neg">(x);
  }
}
Tensor binary(const Tensor& a, const Tensor& b, uint32_t how) {
  switch (how % 4) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return tamed(a * b);
    default: return aten<"maximum">(a, b);
  }
}
Tensor reduce(const Tensor& t, uint32_t how) {
  const Tensor x = as_float(t);
  if (rank(x) == 0) return x;
  const Shape dims{static_cast<int64_t>(how / 8) % rank(x)};
  const bool keep = how & 1;
  switch (how / 2 % 4) {
    case 0: return aten<"mean.dim">(x, dims, keep);
    case 1: return aten<"amax">(x, dims, keep);
    case 2: return tamed(aten<"sum.dim_IntList">(x, dims, keep));
    default: return aten<"var.correction">(x, dims, 0, keep);
  }
}
Tensor convert(const Tensor& t, uint32_t how) {
  constexpr DType kTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::b8};
  const DType to = kTypes[how % 7];
  return aten<"_to_copy">(is_floating(to) ? t : aten<"round">(as_float(t) * 3), to);
}

Tensor step_value(const ComputeStep& s, const TensorList& values) {
  const Tensor &a = pick(values, s.a), &b = pick(values, s.b);
  const int64_t r = rank(a), dim = r == 0 ? 0 : static_cast<int64_t>(s.how) % r;
  switch (s.kind) {
    case Kind::unary: return unary(a, s.how);
    case Kind::binary: {
      const auto [x, y] = matched(as_float(a), as_float(b));
      return binary(x, y, s.how);
    }
    case Kind::compare_select: {
      const auto [x, y] = matched(as_float(a), as_float(b));
      return aten<"where.self">(aten<"gt.Tensor">(x, y), x - y, (y - x) * 0.5);  // no step where they are equal but for rounding
    }
    case Kind::reduce: return reduce(a, s.how);
    case Kind::softmax: return r == 0 ? a : aten<"_softmax">(as_float(a), dim, false);
    case Kind::permute: return r < 2 ? a : aten<"transpose.int">(a, dim, (dim + 1) % r);
    case Kind::flatten: return r < 2 ? a : aten<"flatten.using_ints">(a, 0, 1);
    case Kind::slice: return r == 0 ? a : aten<"slice.Tensor">(a, dim, 1, Value(), 1 + s.how / 8 % 2);
    case Kind::select: return r == 0 ? a : aten<"select.int">(a, dim, s.how & 1 ? -1 : 0);
    case Kind::unsqueeze_expand: {
      if (r > 3) return a;
      const Tensor u = aten<"unsqueeze">(a, dim);
      Shape sizes = u.sizes();
      sizes[static_cast<std::size_t>(dim)] = 2;
      return aten<"expand">(u, sizes);
    }
    case Kind::flip: return r == 0 ? a : aten<"flip">(a, Shape{dim});
    case Kind::cat:
      return r == 0 ? a : aten<"cat">(TensorList{as_float(a), same_sizes(a, b) ? as_float(b) : as_float(a) * 2}, dim);
    case Kind::pad: return r == 0 ? a : aten<"constant_pad_nd">(a, Shape{1, static_cast<int64_t>(s.how % 3)}, 0.5);
    case Kind::product: {
      const Tensor x = tamed(as_float(a));
      if (r == 2) return tamed(aten<"mm">(x, aten<"t">(x)));
      if (r == 3) return tamed(aten<"bmm">(x, aten<"transpose.int">(x, 1, 2)));
      return x;
    }
    case Kind::gather: {
      if (r == 0) return a;
      const Tensor at = aten<"remainder.Scalar">(aten<"arange">(a.size(dim), DType::i64), 2);
      return aten<"index_select">(a, dim, at);
    }
    case Kind::convert: return convert(a, s.how);
    case Kind::cumulate: return r == 0 ? a : tamed(aten<"cumsum">(as_float(a), dim) * 0.1);
    case Kind::last: break;
  }
  return a;
}

// No size that a program derives from one of these is one of its fixed sizes, so that every size takes the same way.
constexpr int64_t kSizes[] = {31, 47, 101};

std::vector<double> elements(const Tensor& t) { return aten<"_to_copy">(t, DType::f64).contiguous().to_vector<double>(); }

// Which element is off by more than its dtype lets it be, or nothing. Some programs magnify rounding (a long sum that cancels): the most
// that eager itself is off from `exact`, the program in float64, says by how much.
std::string difference(const Tensor& got, const Tensor& want, const std::function<Tensor()>& exact) {
  if (got.dtype() != want.dtype() || got.sizes() != want.sizes())
    return text("got ", got.dtype(), got.sizes(), ", want ", want.dtype(), want.sizes());
  constexpr double kMagnified = 10;
  const double bound = want.dtype() == DType::bf16  ? 4e-2
                       : want.dtype() == DType::f16 ? 8e-3
                       : is_floating(want.dtype())  ? 2e-4
                                                    : 0;
  const std::vector<double> g = elements(got), w = elements(want);
  std::optional<double> magnified;  // only asked for where something is off
  for (std::size_t i = 0; i < w.size(); i++) {
    const double off = std::abs(g[i] - w[i]);
    if (off <= bound * (1 + std::abs(w[i])) || (std::isnan(g[i]) && std::isnan(w[i]))) continue;
    if (!magnified) {
      magnified = 0;
      if (is_floating(want.dtype())) {
        const std::vector<double> e = elements(exact());
        for (std::size_t k = 0; k < w.size(); k++) magnified = std::max(*magnified, kMagnified * std::abs(w[k] - e[k]));
      }
    }
    if (off > *magnified) return text("element ", i, ": got ", g[i], ", want ", w[i], " (within ", *magnified, ")");
  }
  return {};
}

}  // namespace

ComputeProgram random_compute(uint64_t seed) {
  std::mt19937_64 random(seed);
  ComputeProgram p{seed, {}};
  const uint64_t count = 2 + random() % 14;
  for (uint64_t i = 0; i < count; i++)
    p.steps.push_back({static_cast<Kind>(random() % static_cast<uint64_t>(Kind::last)), static_cast<uint32_t>(random() % 64),
                       static_cast<uint32_t>(random() % 64), static_cast<uint32_t>(random() % 1024)});
  return p;
}

TensorList compute_inputs(const ComputeProgram& p, int64_t n) {
  manual_seed(p.seed + static_cast<uint64_t>(n));
  return {randn({n, 6}), randn({6}), aten<"_to_copy">(randn({n, 3}), DType::f64), aten<"_to_copy">(randn({n}) * 4, DType::i64)};
}

TensorFunction compute_function(const ComputeProgram& p) {
  return [p](const TensorList& in) {
    TensorList values = in;
    for (const ComputeStep& s : p.steps) values.push_back(step_value(s, values));
    TensorList results;
    for (std::size_t k = values.size() > in.size() + 3 ? values.size() - 3 : in.size(); k < values.size(); k++)
      results.push_back(aten<"clone">(values[k]));
    return results;
  };
}

std::string compare_compiled(const ComputeProgram& p) {
  const TensorFunction f = compute_function(p);
  std::vector<TensorList> inputs;
  for (int64_t n : kSizes) inputs.push_back(compute_inputs(p, n));
  const std::vector<OpenSize> open = {{0, 0, "n"}, {2, 0, "n"}, {3, 0, "n"}};
  std::vector<TensorList> want, got;
  try {
    for (const TensorList& in : inputs) want.push_back(f(in));
  } catch (const UserError&) {
    return {};  // a slice left nothing, of which something is selected
  }
  try {
    got = aot_run_multiple("cpu", f, inputs, {}, open);
  } catch (const UserError& e) {
    return text("refused: ", e.what());
  }
  for (std::size_t k = 0; k < inputs.size(); k++) {
    for (std::size_t i = 0; i < want[k].size(); i++) {
      const auto exact = [&] {
        TensorList wide;
        for (const Tensor& t : inputs[k]) wide.push_back(t.is_floating_point() ? aten<"_to_copy">(t, DType::f64) : t);
        return f(wide)[i];
      };
      if (const std::string what = difference(got[k][i], want[k][i], exact); !what.empty())
        return text("size ", kSizes[k], ", result ", i, ": ", what);
    }
  }
  return {};
}

ComputeProgram shrunk(ComputeProgram p) {
  for (std::size_t i = p.steps.size(); i-- > 0;) {
    ComputeProgram smaller = p;
    smaller.steps.erase(smaller.steps.begin() + static_cast<std::ptrdiff_t>(i));
    if (!smaller.steps.empty() && !compare_compiled(smaller).empty()) p = smaller, i = p.steps.size();
  }
  return p;
}

std::string to_text(const ComputeProgram& p) {
  std::string s = text("seed ", p.seed, ":");
  for (const ComputeStep& x : p.steps) s += text(" {", static_cast<int>(x.kind), ", ", x.a, ", ", x.b, ", ", x.how, "}");
  return s;
}

}  // namespace ingot::testing
