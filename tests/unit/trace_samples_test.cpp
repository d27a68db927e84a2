// Every sample of tests/samples as a graph: traced, run again and compared with eager; at other
// sizes where some are open; gradients computed inside the trace. One suite a sample file.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/sample_suite.hpp"
#include "tensor/random.hpp"
#include "tensor/rows.hpp"

namespace ingot::testing {
namespace {

constexpr uint64_t kSeed = 4;  // both sides of a comparison draw the same numbers

// ---- equality
std::vector<double> doubles(const Tensor& dense) {
  const DType wide = dense.is_complex() ? DType::c128 : DType::f64;
  const Tensor t = make_tensor(Geometry::contiguous(dense.sizes(), wide));
  copy_elements(t, dense);
  const double* p = static_cast<const double*>(t.data_ptr());
  return std::vector<double>(p, p + t.numel().value() * (dense.is_complex() ? 2 : 1));
}
Tensor dense_copy(const Tensor& t) {
  Tensor r = make_tensor(Geometry::contiguous(t.sizes(), t.dtype()));
  copy_elements(r, t);
  return r;
}
// Bit for bit, but any NaN is as good as another.
bool same_elements(const Tensor& a, const Tensor& b) {
  const Tensor x = dense_copy(a), y = dense_copy(b);
  if (x.numel().same(0) ||
      std::memcmp(x.data_ptr(), y.data_ptr(), static_cast<std::size_t>(x.numel().value() * x.itemsize())) == 0)
    return true;
  if (is_integral(a.dtype())) return false;
  const std::vector<double> p = doubles(x), q = doubles(y);
  for (std::size_t i = 0; i < p.size(); i++)
    if (p[i] != q[i] && !(std::isnan(p[i]) && std::isnan(q[i]))) return false;
  return true;
}

// Equal to the last digits of a double.
bool close_elements(const Tensor& a, const Tensor& b) {
  const std::vector<double> p = doubles(dense_copy(a)), q = doubles(dense_copy(b));
  for (std::size_t i = 0; i < p.size(); i++)
    if (!(std::abs(p[i] - q[i]) <= 1e-14 * (1 + std::abs(q[i])))) return false;
  return true;
}

// How much of a value is compared.
enum class Compare { exactly, closely, only_kind };

std::string geometry_text(const Tensor& t) { return text(t.dtype(), t.sizes(), " strides ", t.strides(), " on ", t.device()); }

bool same_elements(const Tensor& got, const Tensor& want, Compare compare) {
  if (compare == Compare::only_kind) return true;
  return compare == Compare::exactly ? same_elements(got, want) : close_elements(got, want);
}
void expect_same(const Value& got, const Value& want, Compare compare, const std::string& what) {
  ASSERT_EQ(got.is_tensor(), want.is_tensor()) << what;
  if (!want.is_tensor()) {
    EXPECT_EQ(to_text(got), to_text(want)) << what;
    return;
  }
  // Another formula may lay its result out in another way.
  if (compare == Compare::closely) ASSERT_EQ(to_text(got.tensor().sizes()), to_text(want.tensor().sizes())) << what;
  else ASSERT_EQ(geometry_text(got.tensor()), geometry_text(want.tensor())) << what;
  EXPECT_TRUE(same_elements(got.tensor(), want.tensor(), compare)) << what << "\n"
                                                                   << dense_copy(got.tensor()).to_string() << "\nand eagerly\n"
                                                                   << dense_copy(want.tensor()).to_string();
}
void expect_same(const Values& got, const Values& want, Compare compare, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t k = 0; k < want.size(); k++) expect_same(got[k], want[k], compare, text(what, ", value ", k));
}

// ---- a sample as a function of its tensors
struct Outcome {
  Values results;
  Values tensors;  // the arguments afterwards: some ops write them
};
Values as_values(const TensorList& l) { return Values(l.begin(), l.end()); }

Outcome eager(const SampleCall& c) {
  default_generator()->set_state({kSeed, 0});
  Outcome o;
  o.results = results_of(call(*c.op, c.args));
  o.tensors = as_values(tensors_of(c.args, is_defined));
  return o;
}
Outcome as_graph(const Graph& g, const Values& inputs, std::size_t tensors) {
  default_generator()->set_state({kSeed, 0});
  Outcome o;
  o.results = Interpreter(g).run(inputs);
  o.tensors = Values(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(tensors));
  return o;
}
Compare compare_for(const Sample& s, const Op& op) {
  if (op.def->result.uninitialised || op.def->effects.rewires == Rewires::size)
    return Compare::only_kind;  // bytes that nobody wrote
  return s.has("looks") ? Compare::closely : Compare::exactly;
}
void expect_same(const Outcome& got, const Outcome& want, Compare compare, const std::string& what) {
  expect_same(got.results, want.results, compare, what);
  expect_same(got.tensors, want.tensors, compare, what + ": the argument afterwards");
}

// A call of the sample's op with the tensors that come first among the leaves.
TreeFunction calls(const SampleCall& c) {
  return [&c](const Tree& in) {
    TensorList tensors;
    for (const Tree& t : in.children())
      if (t.leaf().is_tensor()) tensors.push_back(t.leaf().tensor());
    std::vector<Tree> results;
    for (const Value& v : results_of(call(*c.op, with_tensors(c.args, is_defined, tensors)))) results.push_back(v);
    return Tree::list(std::move(results));
  };
}
Tree tree_of(const Values& leaves) {
  std::vector<Tree> l;
  for (const Value& v : leaves) l.push_back(v);
  return Tree::list(std::move(l));
}

// Nothing where the sample says that its results depend on data and the trace refuses to guess.
template <class F>
std::optional<Traced> traced_sample(const Sample& s, const F& trace_it) {
  try {
    return trace_it();
  } catch (const UserError&) {
    if (!s.has("nofake")) throw;
    return std::nullopt;
  }
}

void check_traced(const Sample& s, TraceWith with) {
  const SampleCall c = make_call(s, Make::real, 0), for_trace = make_call(s, Make::real, 0),
                   for_graph = make_call(s, Make::real, 0);
  const Outcome want = eager(c);
  const std::optional<Traced> traced = traced_sample(
      s, [&] { return trace(calls(for_trace), tree_of(as_values(tensors_of(for_trace.args, is_defined))), {.with = with}); });
  if (!traced) return;
  verify(traced->graph);
  const TensorList inputs = tensors_of(for_graph.args, is_defined);
  expect_same(as_graph(traced->graph, as_values(inputs), inputs.size()), want, compare_for(s, *c.op),
              text(s.where(), "\n", print(traced->graph)));
  // What the trace promises of the results.
  ASSERT_EQ(traced->graph.outputs.size(), want.results.size()) << s.where();
  for (std::size_t k = 0; k < want.results.size(); k++) {
    const Argument& a = traced->graph.outputs[k];
    if (!a.is_node() || !a.node()->meta.is_tensor()) continue;
    const Tensor meta = a.node()->meta.tensor();
    EXPECT_TRUE(meta->is_fake()) << s.where();
    if (meta.sizes().is_symbolic()) continue;  // the data decides
    EXPECT_EQ(geometry_text(meta), geometry_text(want.results[k].tensor())) << s.where() << ": the node of result " << k;
  }
}
void check_fakes(const Sample& s) { check_traced(s, TraceWith::fakes); }
void check_data(const Sample& s) { check_traced(s, TraceWith::data); }

// ---- open sizes
struct OpenSample {
  SampleCall call;              // its numbers are over the symbols of any trace with these open sizes
  std::vector<OpenSize> open;
  std::vector<std::string> numbers;  // names that no tensor has for a size: inputs of their own
};
OpenSample open_sample(const Sample& s) {
  OpenSample o;
  ShapeEnv scratch;
  const GuardScope scope(scratch);
  o.call = make_call(s, Make::symbolic, 0);
  const TensorList tensors = tensors_of(o.call.args, is_defined);
  std::set<std::string> bare;
  for (std::size_t i = 0; i < tensors.size(); i++)
    for (int d = 0; d < tensors[i].dim(); d++)
      if (tensors[i].size(d).is_symbolic()) {
        o.open.push_back({static_cast<int>(i), d, to_text(tensors[i].size(d))});
        bare.insert(o.open.back().name);
      }
  for (const auto& [name, value] : dims_of(s, 0))
    if (!bare.contains(name)) {
      o.open.push_back({static_cast<int>(tensors.size() + o.numbers.size()), 0, name});
      o.numbers.push_back(name);
    }
  return o;
}

void check_open(const Sample& s) {
  if (s.has("nofake") || s.has("nosym") || dims_of(s, 0).empty()) return;
  const OpenSample o = open_sample(s);
  const auto leaves = [&](const SampleCall& c, int setting) {
    Values l = as_values(tensors_of(c.args, is_defined));
    const auto dims = dims_of(s, setting);
    for (const std::string& name : o.numbers) l.push_back(dims.at(name));
    return l;
  };
  Traced traced = trace(calls(o.call), tree_of(leaves(make_call(s, Make::real, 0), 0)), {.open = o.open});
  verify(traced.graph);
  for (const int setting : {0, 1}) {
    const SampleCall c = make_call(s, Make::real, setting), for_graph = make_call(s, Make::real, setting);
    const Outcome want = eager(c);
    const Values inputs = leaves(for_graph, setting);
    EXPECT_EQ(traced.sizes.violation(inputs), "") << s.where() << "\n" << traced.sizes.listing();
    expect_same(as_graph(traced.graph, inputs, want.tensors.size()), want, compare_for(s, *c.op),
                text(s.where(), " at setting ", setting, "\n", print(traced.graph), "\n", traced.sizes.listing()));
  }
}

// ---- gradients
Tensor weights_like(const Tensor& t, int seed) {
  Tensor r = make_tensor(Geometry::contiguous(t.sizes(), t.dtype()));
  double* p = static_cast<double*>(r.data_ptr());
  const int64_t n = t.numel().value() * (t.is_complex() ? 2 : 1);
  for (int64_t i = 0; i < n; i++) p[i] = std::sin(static_cast<double>(i + 1) * 1.7 + seed);
  return r;
}

// The gradients of the results that have some, weighted with the tensors after the first `n`;
// undefined ones left out.
TensorList gradients_of(const SampleCall& c, const TensorList& in, std::size_t n, std::vector<bool>* defined) {
  const TensorList weights(in.begin() + static_cast<std::ptrdiff_t>(n), in.end());
  TensorList xs;
  for (std::size_t i = 0; i < n; i++) xs.push_back(in[i].detach().requires_grad_());
  TensorList outs;
  for (const Value& v : results_of(call(*c.op, with_tensors(c.args, is_double, xs))))
    if (v.is_tensor() && is_double(v.tensor()) && v.tensor().requires_grad()) outs.push_back(v.tensor());
  if (defined == nullptr) return outs;
  TensorList found;
  for (const Tensor& g : grad(outs, xs, weights, {.allow_unused = true})) {
    defined->push_back(g.defined());
    if (g.defined()) found.push_back(g);
  }
  return found;
}

void check_gradients(const Sample& s) {
  if (s.has("nograd")) return;
  const SampleCall c = make_call(s, Make::real, 0);
  TensorList x = tensors_of(c.args, is_double);
  if (x.empty()) return;
  default_generator()->set_state({kSeed, 0});
  const TensorList outs = gradients_of(c, x, x.size(), nullptr);
  if (outs.empty()) return;
  TensorList inputs = x;
  for (const Tensor& t : outs) inputs.push_back(weights_like(t, static_cast<int>(inputs.size())));

  std::vector<bool> eagerly, in_trace;
  default_generator()->set_state({kSeed, 0});
  const TensorList want = gradients_of(c, inputs, x.size(), &eagerly);
  const std::optional<Traced> traced = traced_sample(
      s, [&] { return trace([&](const TensorList& in) { return gradients_of(c, in, x.size(), &in_trace); }, inputs); });
  if (!traced) return;
  verify(traced->graph);
  ASSERT_EQ(in_trace, eagerly) << s.where();
  default_generator()->set_state({kSeed, 0});
  expect_same(Interpreter(traced->graph).run(as_values(inputs)), as_values(want), compare_for(s, *c.op),
              text(s.where(), "\n", print(traced->graph)));
}

// The same with open sizes: traced at one setting, run at both. Rules order their divisions
// otherwise where a size is open, so the last digits may differ. The formula that `looks` stands
// for is one for one length.
void check_open_gradients(const Sample& s) {
  if (s.has("nograd") || s.has("nofake") || s.has("nosym") || dims_of(s, 0).empty()) return;
  const OpenSample o = open_sample(s);
  const std::size_t n = tensors_of(o.call.args, is_double).size();
  if (n == 0 || !o.numbers.empty()) return;
  const auto weighted_inputs = [&](int setting, SampleCall& c) {
    c = make_call(s, Make::real, setting);
    TensorList inputs = tensors_of(c.args, is_double);
    default_generator()->set_state({kSeed, 0});
    for (const Tensor& t : gradients_of(c, inputs, n, nullptr))
      inputs.push_back(weights_like(t, static_cast<int>(inputs.size())));
    return inputs;
  };
  SampleCall at_first;
  const TensorList examples = weighted_inputs(0, at_first);
  if (examples.size() == n) return;
  // Weights have the results' sizes.
  std::vector<OpenSize> open;
  {
    ShapeEnv scratch;
    const GuardScope scope(scratch);
    const SampleCall c = make_call(s, Make::symbolic, 0);
    TensorList all = tensors_of(c.args, is_double);
    const Scoped<bool> factories(thread_state().fake_factories, true);
    for (const Tensor& t : gradients_of(c, all, n, nullptr)) all.push_back(t);
    for (std::size_t i = 0; i < all.size(); i++)
      for (int d = 0; d < all[i].dim(); d++)
        if (all[i].size(d).is_symbolic()) open.push_back({static_cast<int>(i), d, to_text(scratch.simplify(all[i].size(d)))});
  }
  if (open.empty()) return;
  std::vector<bool> in_trace;
  Traced traced = trace([&](const TensorList& in) { return gradients_of(o.call, in, n, &in_trace); }, examples, {.open = open});
  verify(traced.graph);
  for (const int setting : {0, 1}) {
    SampleCall c;
    const TensorList inputs = weighted_inputs(setting, c);
    if (tensors_of(c.args, is_defined).size() != n) return;  // other tensors are of the first setting's size
    std::vector<bool> eagerly;
    default_generator()->set_state({kSeed, 0});
    const TensorList want = gradients_of(c, inputs, n, &eagerly);
    ASSERT_EQ(in_trace, eagerly) << s.where();
    default_generator()->set_state({kSeed, 0});
    const std::string violation = traced.sizes.violation(as_values(inputs));
    if (s.has("looks") && !violation.empty()) continue;
    EXPECT_EQ(violation, "") << s.where() << "\n" << traced.sizes.listing();
    expect_same(Interpreter(traced.graph).run(as_values(inputs)), as_values(want), Compare::closely,
                text(s.where(), " at setting ", setting, "\n", print(traced.graph), "\n", traced.sizes.listing()));
  }
}

const bool registered = register_sample_suites("TracedSamples", INGOT_TEST_DATA "/../samples",
                                               {{"FakesAsAGraphEqualEager", check_fakes},
                                                {"DataAsAGraphEqualsEager", check_data},
                                                {"OpenSizesAsAGraph", check_open},
                                                {"GradientsAsAGraph", check_gradients},
                                                {"GradientsOfOpenSizesAsAGraph", check_open_gradients}});

}  // namespace
}  // namespace ingot::testing
