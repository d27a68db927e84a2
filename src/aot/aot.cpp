#include "aot/aot.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "aot/compile.hpp"
#include "aot/context.hpp"
#include "aot/log.hpp"
#include "base/error.hpp"
#include "op/call.hpp"

namespace ingot::aot {
namespace {

void add_leaves(const Tree& tree, Values& leaves) {
  if (tree.is_leaf()) return leaves.push_back(tree.leaf());
  for (const Tree& child : tree.children()) add_leaves(child, leaves);
}

bool is_nested_as(const Tree& tree, const TreeSpec& spec) {
  if (tree.is_leaf() || spec.is_leaf()) return tree.is_leaf() == spec.is_leaf();
  const auto same = [](const Value& a, const Value& b) { return a.same(b); };
  return tree.children().size() == spec.children.size() && tree.type() == spec.type &&
         std::equal(tree.keys().begin(), tree.keys().end(), spec.keys.begin(), spec.keys.end(), same) &&
         std::equal(tree.children().begin(), tree.children().end(), spec.children.begin(), is_nested_as);
}

// "tuple(*, dict('x': *))"
std::string nesting_text(const TreeSpec& spec) {
  if (spec.is_leaf()) return "*";
  std::string s;
  for (std::size_t k = 0; k < spec.children.size(); k++)
    s += text(k == 0 ? "" : ", ", k < spec.keys.size() ? to_text(spec.keys[k]) + ": " : "", nesting_text(spec.children[k]));
  const std::size_t dot = spec.type.rfind('.');
  return text(dot == std::string::npos ? spec.type : spec.type.substr(dot + 1), "(", s, ")");
}

bool is_mapped() { return thread_state().active & layer_bit(Layer::transform); }
bool is_traced(const Value& v) { return v.is_tensor() && v.tensor()->layers & layer_bit(Layer::functionalize); }
bool has_open_size(const Value& v) {
  return v.is_tensor() ? v.tensor().sizes().is_symbolic() || v.tensor().strides().is_symbolic()
                       : v.is_int() && v.to_int().is_symbolic();
}

// The arguments of a call, and how they are nested.
struct Call {
  const Values& leaves;
  const Tree* tree;  // none: in a list

  bool is_nested_as(const TreeSpec& spec) const {
    if (tree) return aot::is_nested_as(*tree, spec);
    return spec.type == tree_types::kList && spec.children.size() == leaves.size() &&
           std::all_of(spec.children.begin(), spec.children.end(), [](const TreeSpec& s) { return s.is_leaf(); });
  }
  TreeSpec spec() const { return flatten(tree ? *tree : Tree::list({leaves.begin(), leaves.end()})).spec; }
};

// The function for calls that break none of its guards. It does not change.
struct Variant {
  TreeSpec inputs;
  std::optional<TreeSpec> outputs;
  FlatCallable run;
  Guards guards;

  // Empty: nothing does.
  std::string broken_by(const Call& call) const {
    if (!call.is_nested_as(inputs))
      return text("nesting: expected ", nesting_text(inputs), ", found ", nesting_text(call.spec()));
    return guards.to_text(guards.check(call.leaves), call.leaves);
  }
};

}  // namespace

struct AotFunction::State {
  TreeFunction f;
  AotOptions options;
  int id;

  State(TreeFunction function, AotOptions o, int i)
      : f(std::move(function)), options(std::move(o)), id(i),
        variants_(static_cast<std::size_t>(std::max(options.most_variants, 1))) {}

  std::size_t count() const { return count_.load(std::memory_order_acquire); }

  // What runs the call: null where the function itself is to.
  const Variant* variant_for(const Call& call) {
    if (is_mapped()) return note(call, "is run as it is: the call is under vmap"), nullptr;
    if (is_guarded() && std::any_of(call.leaves.begin(), call.leaves.end(), is_traced))
      return note(call, "is run as it is: a compilation around the call takes it in"), nullptr;
    const Variant* v = find(call, 0);
    if (!v) v = compile_for(call);
    if (v && nn::TrainingReads::any()) v->guards.note_modules();
    if (!v || v->guards.beyond_graphs().empty()) return v;
    return note(call, text("is run as it is: it ", v->guards.beyond_graphs())), nullptr;
  }

 private:
  // Grows at its end, and only there: who has read the number may read as many, and needs no lock
  // for it.
  std::vector<std::unique_ptr<const Variant>> variants_;
  std::atomic<std::size_t> count_ = 0, recent_ = 0;
  std::mutex compiling_;

  bool is_guarded() const { return options.guards && !options.debug_assert; }
  bool fits(const Variant& v, const Call& call) const {
    return !is_guarded() || (call.is_nested_as(v.inputs) && !v.guards.check(call.leaves));
  }

  // The one that was used last is asked first, then the newest.
  const Variant* find(const Call& call, std::size_t first) {
    const std::size_t end = count(), recent = recent_.load(std::memory_order_relaxed);
    if (recent >= first && recent < end && fits(*variants_[recent], call)) return variants_[recent].get();
    for (std::size_t k = end; k-- > first;) {
      if (k == recent || !fits(*variants_[k], call)) continue;
      recent_.store(k, std::memory_order_relaxed);
      return variants_[k].get();
    }
    return nullptr;
  }

  const Variant* compile_for(const Call& call) {
    const std::size_t seen = count();
    if (seen > 0 && std::any_of(call.leaves.begin(), call.leaves.end(), has_open_size))
      return note(call, "is run as it is: a trace around the call has sizes open that it was not compiled for"), nullptr;
    const std::lock_guard lock(compiling_);
    if (const Variant* made_meanwhile = find(call, std::min(seen, count()))) return made_meanwhile;
    const std::size_t next = count();
    for (std::size_t k = 0; k < next; k++) require_modules(*variants_[k], call);
    if (next == variants_.size())
      return note(call, text("is run as it is: there are ", next,
                             " variants, which is the most that AotOptions::most_variants allows")),
             nullptr;
    if (next > 0) note(call, text("is compiled again, variant ", next + 1, " of at most ", variants_.size()));
    variants_[next] = compiled(call);
    recent_.store(next, std::memory_order_relaxed);
    count_.store(next + 1, std::memory_order_release);
    return variants_[next].get();
  }

  // To compile for a call that nothing but the end of a module keeps from a variant is to run the
  // function, which read the module, and may find no other in its place.
  void require_modules(const Variant& v, const Call& call) const {
    if (!is_guarded() || !call.is_nested_as(v.inputs)) return;
    const Guards::Broken b = v.guards.check(call.leaves);
    if (v.guards.lacks_module(b))
      throw_user_error(text("function ", id, " was compiled of a program that read a module, which is gone since: ",
                            v.guards.to_text(b, call.leaves),
                            ". Keep the modules that a function reads as long as the function, which can hold them by a "
                            "shared_ptr, or compile the program for other modules by an aot_function of its own"));
  }

  std::unique_ptr<const Variant> compiled(const Call& call) const {
    auto v = std::make_unique<Variant>();
    v->inputs = call.spec();
    const FlatFunction flat = [this, v = v.get()](const Values& leaves) {
      const Tree result = f(unflatten(leaves, v->inputs));
      FlatTree out = flatten(result);
      for (const Value& value : out.leaves) require_known_output(value);
      INGOT_REQUIRE(!v->outputs || is_nested_as(result, *v->outputs), "the function nests its results as ",
                    nesting_text(out.spec), " while it is traced, and as ", nesting_text(*v->outputs),
                    " before. Does it depend on anything but its arguments?");  // R003
      v->outputs = std::move(out.spec);
      return std::move(out.leaves);
    };
    Compiled c = compile(flat, call.leaves, options, id);
    v->run = std::move(c.run);
    v->guards = std::move(c.guards);
    return v;
  }

  // Why no variant fits, by variant.
  void note(const Call& call, const std::string& what) const {
    if (!options.enable_log || !is_logged("guards")) return;
    std::string lines = text("function ", id, " ", what);
    const std::size_t end = count(), recent = recent_.load(std::memory_order_relaxed);
    for (std::size_t k = 0; k < end; k++) {
      const std::size_t variant = k == 0 ? recent : k - (k <= recent);
      const std::string why = variants_[variant]->broken_by(call);
      if (!why.empty()) lines += text("\n  variant ", variant + 1, ": ", why);
    }
    log_line("guards", lines);
  }
};

AotFunction::AotFunction(TreeFunction f, AotOptions options) : id_(take_id()) {
  state_ = std::make_shared<State>(std::move(f), std::move(options), id_);
}

int AotFunction::variants() const { return static_cast<int>(state_->count()); }

Tree AotFunction::operator()(const Tree& arguments) const {
  State& s = *state_;
  Values leaves;
  leaves.reserve(arguments.is_leaf() ? 1 : arguments.children().size());
  add_leaves(arguments, leaves);
  const Variant* v = s.variant_for({leaves, &arguments});
  return v ? unflatten(v->run(std::move(leaves)), *v->outputs) : s.f(arguments);
}

TensorList AotFunction::operator()(const TensorList& arguments) const {
  State& s = *state_;
  Values leaves(arguments.begin(), arguments.end());
  const Variant* v = s.variant_for({leaves, nullptr});
  const Values results = v ? v->run(std::move(leaves)) : flatten(s.f(Tree::list({leaves.begin(), leaves.end()}))).leaves;
  TensorList l;
  l.reserve(results.size());
  for (const Value& r : results) l.push_back(r.tensor_or_none());
  return l;
}

AotFunction aot_function(TreeFunction f, AotOptions options) { return {std::move(f), std::move(options)}; }

AotFunction aot_function(const TensorFunction& f, AotOptions options) {
  return aot_function(
      [f](const Tree& arguments) {
        TensorList in;
        for (const Tree& t : arguments.children()) in.push_back(t.leaf().tensor());
        std::vector<Tree> out;
        for (const Tensor& t : f(in)) out.push_back(t.defined() ? Tree(t) : Tree());
        return Tree::list(std::move(out));
      },
      std::move(options));
}

}  // namespace ingot::aot
