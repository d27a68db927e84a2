#include "support/aot_harness.hpp"

#include <algorithm>
#include <optional>

#include "aot/capture.hpp"
#include "ingot/sparse.hpp"
#include "support/memory_store.hpp"
#include "support/test_folder.hpp"

namespace ingot::aot {
namespace {

struct Side {
  Values leaves, inputs;  // H02, H03
  TreeSpec arguments;  // how the inputs are nested
  Values outputs = {};
  std::string nesting = {};  // of the outputs
  TensorList grads = {};
};
using Compile = std::function<TreeFunction(const AotOptions&)>;

Compiler storing(std::string& graph) {
  return [&graph](std::shared_ptr<const Graph> g, const Values& examples) {
    graph = print(*g);
    return nop(std::move(g), examples);
  };
}

struct Bounds {
  double relative = 0, absolute = 0;
};
Bounds bounds_of(DType t) {  // H13
  switch (t) {
    case DType::f64: return {1e-7, 1e-7};
    case DType::f32: return {1.3e-6, 1e-5};
    case DType::f16: return {1e-3, 1e-5};
    case DType::bf16: return {1.6e-2, 1e-5};
    default: return {};
  }
}

void expect_same_tensors(const Tensor& want, const Tensor& found, const std::string& what) {
  ASSERT_EQ(want.defined(), found.defined()) << what;
  if (!want.defined()) return;
  ASSERT_EQ(to_text(want.sizes()), to_text(found.sizes())) << what;
  ASSERT_EQ(want.dtype(), found.dtype()) << what;
  ASSERT_EQ(testing::is_two_tensor(want), testing::is_two_tensor(found)) << what;
  ASSERT_EQ(is_sparse(want), is_sparse(found)) << what;
  if (testing::is_two_tensor(want)) {
    expect_same_tensors(testing::a(want), testing::a(found), what + " a");
    expect_same_tensors(testing::b(want), testing::b(found), what + " b");
    return;
  }
  if (is_sparse(want)) {
    expect_same_tensors(sparse_indices(want), sparse_indices(found), what + " indices");
    expect_same_tensors(sparse_values(want), sparse_values(found), what + " values");
    return;
  }
  if (is_complex(want.dtype()))
    return expect_same_tensors(aten<"view_as_real">(detached(want)), aten<"view_as_real">(detached(found)), what);
  if (!is_floating(want.dtype())) {  // doubles do not tell integers past 2^53 apart
    const std::vector<int64_t> w = detached(want).to_vector<int64_t>(), g = detached(found).to_vector<int64_t>();
    for (std::size_t i = 0; i < w.size(); i++) ASSERT_EQ(w[i], g[i]) << what << " element " << i;
    return;
  }
  const std::vector<double> w = detached(want).to_vector<double>(), g = detached(found).to_vector<double>();
  const Bounds b = bounds_of(want.dtype());
  for (std::size_t i = 0; i < w.size(); i++)
    ASSERT_NEAR(w[i], g[i], b.absolute + b.relative * std::abs(w[i])) << what << " element " << i;
}

TreeFunction over_tree(const TensorFunction& f) {
  return [f](const Tree& args) {
    TensorList in;
    for (const Tree& t : args.children()) in.push_back(t.leaf().tensor());
    std::vector<Tree> out;
    for (const Tensor& t : f(in)) out.push_back(t.defined() ? Tree(t) : Tree());
    return Tree::tuple(std::move(out));
  };
}

std::string for_each_keep(const V& flags, const std::function<std::string(bool)>& run) {  // H01, H11
  std::string graph;
  for (const bool keep : {true, false}) {
    if (!keep && flags.keep) continue;
    SCOPED_TRACE(keep ? "keep" : "do not keep");
    graph = run(keep);
  }
  return graph;
}

TreeSpec tuple_of(std::size_t size) { return {std::string(tree_types::kTuple), "null", {}, std::vector<TreeSpec>(size)}; }

Side copies(const Values& inputs, bool mut) {
  Side s;
  s.arguments = tuple_of(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); k++) {
    const auto same = std::find_if(inputs.begin(), inputs.end(), [&](const Value& v) {
      return v.is_tensor() && inputs[k].is_tensor() && v.tensor().is_same(inputs[k].tensor());
    });
    const auto first = static_cast<std::size_t>(same - inputs.begin());
    if (!inputs[k].is_tensor()) {
      s.leaves.push_back(inputs[k]);
      s.inputs.push_back(inputs[k]);
    } else if (first < k) {
      s.leaves.push_back(s.leaves[first]);
      s.inputs.push_back(s.inputs[first]);
    } else {
      const Tensor& t = inputs[k].tensor();
      Tensor leaf = detached(t).clone();
      if (requires_grad(t)) leaf = leaf.requires_grad_();
      const Tensor given = requires_grad(t) && !is_leaf(t) ? leaf.clone() : leaf;
      s.leaves.push_back(given);
      s.inputs.push_back(mut ? given + 1 : given);
    }
  }
  return s;
}

std::string text_of(const TreeSpec& s) {
  std::string all = s.type;
  for (std::size_t k = 0; k < s.children.size(); k++)
    all += text(k ? ", " : "(", s.keys.empty() ? "" : to_text(s.keys[k]) + ": ", text_of(s.children[k]));
  return s.is_leaf() ? "*" : s.children.empty() ? all + "()" : all + ")";
}

void call_and_differentiate(const TreeFunction& f, Side& s) {
  FlatTree out = flatten(f(unflatten(s.inputs, s.arguments)));
  s.outputs = std::move(out.leaves);
  s.nesting = text_of(out.spec);
  for (const Value& v : s.outputs)
    if (v.is_tensor() && requires_grad(v.tensor())) backward({v.tensor().sum()}, {}, true);
  for (Value& v : s.leaves) {
    if (!v.is_tensor()) continue;
    s.grads.push_back(v.tensor().grad());
    Tensor(v.tensor()).set_grad({});
  }
}

// H08: whether the output is a view of what an input is a view of.
bool looks_at_input(const Tensor& t, const Values& inputs) {
  const auto base_of = [](const Tensor& x) {
    const AutogradMeta* m = autograd_meta(x);
    return m && m->view ? m->view->base : Tensor();
  };
  const Tensor base = base_of(t);
  if (!base.defined()) return false;
  return std::any_of(inputs.begin(), inputs.end(), [&](const Value& v) {
    if (!v.is_tensor()) return false;
    const Tensor other = base_of(v.tensor());
    return base.is_same(v.tensor()) || (other.defined() && base.is_same(other));
  });
}

void compare_outputs(const Side& want, const Side& found, const std::string& when) {  // H08
  for (std::size_t k = 0; k < want.outputs.size() && k < found.outputs.size(); k++) {
    const Value &w = want.outputs[k], &g = found.outputs[k];
    ASSERT_EQ(w.is_tensor(), g.is_tensor()) << "output " << k;
    if (!w.is_tensor()) {
      EXPECT_TRUE(w.same(g)) << "output " << k << ": " << to_text(w) << " and " << to_text(g);
      continue;
    }
    EXPECT_EQ(requires_grad(w.tensor()), requires_grad(g.tensor())) << "output " << k << when;
    EXPECT_EQ(is_leaf(w.tensor()), is_leaf(g.tensor())) << "output " << k << when;
    EXPECT_EQ(looks_at_input(w.tensor(), want.inputs), looks_at_input(g.tensor(), found.inputs)) << "output " << k << when;
    expect_same_tensors(w.tensor(), g.tensor(), text("output ", k, when));
  }
}

std::string run(const TreeFunction& f, const Compile& compile, Side want, Side found, bool keep, const V& flags) {
  std::string graph;
  call_and_differentiate(f, want);
  const TreeFunction compiled = compile({.forward = storing(graph),
                                         .backward = nop,
                                         .partition = flags.partition,
                                         .decompositions = flags.decompositions,
                                         .keep_inference_input_mutations = keep,
                                         .dynamic = flags.dynamic,
                                         .debug_assert = true});  // H05
  if (!flags.error.empty()) {
    const std::string error = error_of([&] { call_and_differentiate(compiled, found); });
    EXPECT_NE(error.find(flags.error), std::string::npos) << error;
    return graph;
  }
  call_and_differentiate(compiled, found);
  EXPECT_EQ(want.nesting, found.nesting);  // H07
  EXPECT_EQ(want.outputs.size(), found.outputs.size());
  EXPECT_EQ(want.grads.size(), found.grads.size());
  for (std::size_t k = 0; k < want.grads.size(); k++)
    expect_same_tensors(want.grads[k], found.grads[k], text("gradient ", k));  // H07
  compare_outputs(want, found, "");
  if (flags.mut) {  // H09
    for (const double step : {2.0, -2.0}) {
      for (Side* s : {&want, &found})
        for (const Value& v : s->outputs)
          if (v.is_tensor()) Tensor(v.tensor()).add_(step);
      compare_outputs(want, found, " after a write");
    }
  }
  for (std::size_t k = 0; k < want.leaves.size(); k++) {  // H10, and the graph inputs
    if (!want.leaves[k].is_tensor()) continue;
    EXPECT_EQ(requires_grad(want.leaves[k].tensor()), requires_grad(found.leaves[k].tensor())) << "leaf " << k;
    expect_same_tensors(want.leaves[k].tensor(), found.leaves[k].tensor(), text("leaf ", k));
  }
  for (std::size_t k = 0; k < want.inputs.size(); k++) {
    if (!want.inputs[k].is_tensor()) continue;
    const Tensor &w = want.inputs[k].tensor(), &g = found.inputs[k].tensor();
    expect_same_tensors(w, g, text("input ", k));
    EXPECT_EQ(to_text(w.strides()), to_text(g.strides())) << "input " << k;
    EXPECT_EQ(is_leaf(w), is_leaf(g)) << "input " << k;
    if (flags.begins_to_require_grad && is_leaf(w)) continue;
    EXPECT_EQ(requires_grad(w), requires_grad(g)) << "input " << k;
    expect_same_tensors(w.grad(), g.grad(), text("what input ", k, " accumulated"));
  }
  return graph;
}

// A function of a tuple, over tensors that it takes before its arguments.
struct WithState {
  TensorList state;
  TreeFunction f;
};

// Compiled by the simplified entry at the first call, for that call's arguments; with `front_end`,
// from what that captures.
TreeFunction simplified(WithState of, const AotOptions& options, bool front_end) {
  struct State {
    FlatCallable compiled;
    TreeSpec results;
  };
  const auto state = std::make_shared<State>();
  return [of = std::move(of), options, front_end, state](const Tree& arguments) {
    const FlatTree flat = flatten(arguments);
    if (!state->compiled) {
      AotOptions o = options;
      Values examples = flat.leaves;
      if (options.dynamic) {
        o.sizes = std::make_shared<ShapeEnv>();
        examples = fake_inputs(examples, every_size_open(examples), *o.sizes);
      }
      FlatFunction f = [of, spec = flat.spec, state](const Values& leaves) {
        std::vector<Tree> trees;
        for (std::size_t k = 0; k < of.state.size(); k++) trees.emplace_back(leaves[k]);
        const Tree given = unflatten(Args(leaves).subspan(of.state.size()), spec);
        trees.insert(trees.end(), given.children().begin(), given.children().end());
        FlatTree out = flatten(of.f(Tree::tuple(std::move(trees))));
        state->results = std::move(out.spec);
        return std::move(out.leaves);
      };
      if (front_end) {
        Values all(of.state.begin(), of.state.end());
        all.insert(all.end(), examples.begin(), examples.end());
        ShapeEnv own;
        ShapeEnv& sizes = o.sizes ? *o.sizes : own;
        f = function_of(capture(f, fake_inputs(all, {}, sizes), sizes, Wrappers::whole));
      }
      state->compiled = aot_module_simplified(f, of.state, examples, o);
    }
    return unflatten(state->compiled(flat.leaves), state->results);
  };
}

bool is_differentiated(const Value& v) { return v.is_tensor() && requires_grad(v.tensor()); }
std::vector<uint32_t> versions(const Values& arguments) {
  std::vector<uint32_t> l;
  for (const Value& v : arguments) {
    const bool is_counted = v.is_tensor() && v.tensor()->storage && !v.tensor()->inference;
    l.push_back(is_counted ? v.tensor().version() : 0);
  }
  return l;
}

// Section 4. `verify_form` compiles in the form that it is given, or plainly, compares, and returns
// the forward graph.
using Form = std::function<TreeFunction(WithState, const AotOptions&)>;
std::string in_every_form(bool keep, const V& flags, const std::function<std::string(const Form&, bool)>& verify_form) {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                    id = test.substr(test.find('/') + 1, 4);
  const std::string graph = verify_form({}, true);
  if (::testing::Test::HasFailure() || !flags.derived) return graph;
  {
    SCOPED_TRACE(id + ".F");
    verify_form([](const WithState& f, const AotOptions& o) { return simplified(f, o, true); }, false);
  }
  SCOPED_TRACE(id + ".C");
  const testing::TestFolder folder;
  const auto store = std::make_shared<testing::MemoryStore>();
  const auto cache = std::make_shared<AotCache>(AotCache::Options{.folder = folder.file("cache"), .artifacts = store});
  bool is_tracked = false;  // a result requires grad, or an argument that is written
  const Form cached = [&](const WithState& f, AotOptions o) -> TreeFunction {
    o.forward = o.backward = store->compiler();
    o.cache = cache;
    return [&is_tracked, compiled = simplified(f, o, false)](const Tree& arguments) {
      const Values given = flatten(arguments).leaves;
      const std::vector<uint32_t> before = versions(given);
      const Tree out = compiled(arguments);
      const std::vector<uint32_t> after = versions(given);
      for (std::size_t k = 0; k < given.size(); k++) is_tracked |= before[k] != after[k] && is_differentiated(given[k]);
      for (const Value& v : flatten(out).leaves) is_tracked |= is_differentiated(v);
      return out;
    };
  };
  verify_form(cached, false);
  verify_form(cached, false);  // H12
  if (!flags.error.empty()) return graph;
  const CacheCounters found = cache->counters();
  // A function whose backward nobody asked for is not kept (R190): what is tracked are views that
  // are made outside the graph, or arguments that were written, which nobody differentiates here.
  const bool unasked = is_tracked && found.bypass == 0 && found.saved == 0 && !store->compiled_backward;
  EXPECT_TRUE(unasked || (found.bypass == 0 && found.hit == 1 && found.saved == 1))
      << "hit " << found.hit << ", miss " << found.miss << ", bypass " << found.bypass << ", saved " << found.saved
      << ", last: " << to_text(cache->last()) << (keep ? " (keep)" : "");
  return graph;
}

std::string with_and_without_keep(const TreeFunction& f, const std::function<Side()>& make, const V& flags) {
  return for_each_keep(flags, [&](bool keep) {
    return in_every_form(keep, flags, [&](const Form& form, bool is_plain) {
      const Compile compile = [&](const AotOptions& o) -> TreeFunction {
        return is_plain ? aot_function(f, o) : form({{}, f}, o);
      };
      const Side want = make(), found = make();
      return run(f, compile, want, found, keep, flags);
    });
  });
}

}  // namespace

std::string AotHarness::verify(const Function& f, const TensorList& inputs, V flags) {
  return verify_tree(over_tree(f), Values(inputs.begin(), inputs.end()), flags);
}

std::string AotHarness::verify_tree(const TreeFunction& f, const Values& inputs, V flags) {
  return with_and_without_keep(f, [&] { return copies(inputs, flags.mut); }, flags);
}

std::string AotHarness::verify_tree(const TreeFunction& f, const Tree& arguments, V flags) {
  const FlatTree flat = flatten(arguments);
  const auto make = [&] {
    Side s = copies(flat.leaves, flags.mut);
    s.arguments = flat.spec;
    return s;
  };
  return with_and_without_keep(f, make, flags);
}

std::string AotHarness::verify(const Function& f, const Factory& factory, V flags) {
  return with_and_without_keep(
      over_tree(f),
      [&] {
        testing::TwoTensorMode mode;
        std::optional<ModeScope> scope;
        if (flags.sub) scope.emplace(mode);
        const Made m = factory();
        return Side{.leaves = Values(m.leaves.begin(), m.leaves.end()),
                    .inputs = Values(m.inputs.begin(), m.inputs.end()),
                    .arguments = tuple_of(m.inputs.size())};
      },
      flags);
}

std::string AotHarness::verify_made(const std::function<Module()>& make, const TensorList& inputs, V flags) {
  return for_each_keep(flags, [&](bool keep) {
    const auto made = [&] {
      manual_seed(0);
      return make();
    };
    const auto side = [&](const Module& m) {
      Side s = copies(Values(inputs.begin(), inputs.end()), flags.mut);
      for (const auto& [name, t] : m.module->state()) s.leaves.push_back(t);
      return s;
    };
    return in_every_form(keep, flags, [&](const Form& form, bool is_plain) {
      const Module eager = made(), compiled = made();
      const Compile compile = [&](const AotOptions& o) -> TreeFunction {
        if (is_plain) return aot_module(*compiled.module, compiled.forward, o);
        const ModuleFunction m = as_function(*compiled.module, compiled.forward);
        return form({m.state, m.f}, o);
      };
      return run(eager.forward, compile, side(eager), side(compiled), keep, flags);
    });
  });
}

Compiler AotHarness::capture(std::string& graph) { return storing(graph); }

void AotHarness::expect_same(const Tensor& want, const Tensor& found, const std::string& what) {
  expect_same_tensors(want, found, what);
}

}  // namespace ingot::aot
