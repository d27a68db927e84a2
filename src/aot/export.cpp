#include "aot/export.hpp"

#include <algorithm>

#include "aot/compile.hpp"
#include "aot/dedupe.hpp"
#include "aot/graphs.hpp"
#include "aot/inputs.hpp"
#include "aot/metadata_record.hpp"
#include "aot/synthetic_base.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "program/write_back.hpp"
#include "transform/functional.hpp"

namespace ingot::aot {
namespace {

bool is_wrapper(const Value& v) {
  if (!v.is_tensor()) return false;
  const FunctionalState* f = functional_state(v.tensor());
  return (f ? f->value : v.tensor())->layers & layer_bit(Layer::wrapper);
}

bool any(const std::vector<InputInfo>& inputs, const auto& is) { return std::any_of(inputs.begin(), inputs.end(), is); }

// R170 to R173, in this order (R175).
void refuse_unsupported(const Metadata& m, bool wrappers, const ExportOptions& o) {
  constexpr std::string_view kBanned =
      "\nThis is currently banned in the aot_export workflow. If you need this functionality, please file a github issue.\n\nfw_metadata=";
  if (any(m.inputs, [](const InputInfo& i) { return i.mutates_metadata; }))
    throw_user_error(
        text("Found an input that received a metadata mutation, through e.g. a call to `.resize_()` or `.transpose_()`.", kBanned,
             to_text(m)));
  if (any(m.inputs, [](const InputInfo& i) { return i.mutates_data && i.requires_grad; }))
    throw_user_error(text("Found a graph input that requires gradients, and received a mutation.", kBanned, to_text(m)));
  INGOT_REQUIRE(
      !wrappers,
      "aot_export is not currently supported with traceable tensor subclass.\nIf you need this feature, please comment on <CREATE_ISSUE_LINK>");
  INGOT_REQUIRE(!o.functionalize_rng_ops,
                "Functionalized RNG is not currently supported in the aot_export workflow. Please file a github issue,\n"
                "or otherwise set torch._functorch.config.functionalize_rng_ops = False.");
}

std::string base_info(const SyntheticBase& bases) {
  std::string s;
  for (const std::vector<std::size_t>& members : bases.bases()) {
    std::string inputs;
    for (const std::size_t i : members) inputs += text(inputs.empty() ? "" : ", ", i);
    s += text(s.empty() ? "" : "; ", "one base for the inputs ", inputs);
  }
  return s;
}

struct FlatExport {
  Graph graph;
  Metadata meta;
  Values fakes;
};

// R066: what compile() does, up to the graph. `no_tangents`: as joint_graph.
FlatExport export_flat(const FlatFunction& f, const Values& arguments, const ExportOptions& o, bool no_tangents) {
  ThreadState& state = thread_state();
  const Scoped<bool> exporting(state.exporting, true);
  const Scoped<bool> grad_mode(state.grad_mode, state.grad_mode && (o.trace_joint || o.pre_dispatch));  // R177
  INGOT_REQUIRE(
      o.sizes || std::none_of(arguments.begin(), arguments.end(), has_open_sizes),
      "the arguments to export for are fakes with open sizes, whose environment is not known; give ExportOptions::sizes the ShapeEnv they were made in");
  ShapeEnv own;
  ShapeEnv& sizes = o.sizes ? *o.sizes : own;
  const GuardScope guards(sizes);
  bool wrappers = std::any_of(arguments.begin(), arguments.end(), is_wrapper);
  const auto watched = [&](const Values& given) {
    Values results = f(given);
    wrappers = wrappers || std::any_of(results.begin(), results.end(), is_wrapper);
    return results;
  };
  const auto fake = [&](const Values& given) { return fake_inputs(given, {}, sizes, false); };
  Prepared p{watched, arguments, fake(arguments), {}};
  const bool may_train = state.grad_mode && std::any_of(p.fakes.begin(), p.fakes.end(), [](const Value& v) {
                           return v.is_tensor() && requires_grad(v.tensor());
                         });
  p.meta = collect_metadata(p.f, p.fakes, false, may_train);
  if (may_train && has_nothing_to_differentiate(p.meta)) p.meta.is_train = false;
  refuse_unsupported(p.meta, wrappers, o);

  // R174: the graph takes what the caller gives, or there is none.
  const std::string as_given = to_text(p.meta);
  INGOT_REQUIRE(!Dedupe(p, 0, 0).drops(),
                "Encountered duplicated inputs that are mutated in the graph you are trying to export.\n"
                "This functionality is currently not supported. If needed, please file a github issue.\n\nfw_metadata=",
                as_given);
  const SyntheticBase bases(p, fake);
  INGOT_REQUIRE(bases.bases().empty(),
                "Encountered aliased inputs that are mutated in the graph you are trying to export.\n"
                "This functionality is currently not supported. If needed, please file a github issue.\n\nsynthetic_base_info=",
                base_info(bases), "\n\nfw_metadata=", as_given);

  FlatExport e;
  if (p.meta.is_train && !o.pre_dispatch) {
    JointGraph joint = joint_graph(p.f, p.fakes, p.meta, sizes, o.decompositions, no_tangents);
    INGOT_REQUIRE(joint.written_by_backward.empty(), "Found a graph input that is written in the backward: input ",
                  joint.written_by_backward[0], ". An exported graph has no place for it; write a clone() instead");
    e.graph = std::move(joint.graph);
  } else {
    e.graph = base_graph(p.f, p.fakes, p.meta, sizes, o.decompositions, o.pre_dispatch).graph;
  }
  e.meta = std::move(p.meta);
  e.fakes = std::move(p.fakes);
  return e;
}

// ---- modules

std::string type_name(const Tree& t) { return t.is_leaf() ? std::string(t.leaf().kind_name()) : t.type(); }

// R179. Gradients are of the loss alone.
Tree with_loss(const Tree& out, std::optional<int> index) {
  INGOT_REQUIRE(index,
                "If trace_joint=Trueit is required that one of your forward outputs must be a scalar loss.\n"
                "You must specify the which (index) output is the loss with output_loss_index.");
  const Tree all = out.is_leaf() && out.leaf().is_tensor() ? Tree::tuple({out}) : out;
  INGOT_REQUIRE(all.type() == tree_types::kTuple || all.type() == tree_types::kList,
                "Expected forward output to be either a tensor or a list/tuple of tensors. found ", type_name(all));
  const auto k = static_cast<std::size_t>(*index);
  INGOT_REQUIRE(*index >= 0 && k < all.children().size() && all[k].is_leaf() && all[k].leaf().is_tensor(),
                "output_loss_index is ", *index, ", and there is no tensor at that place: the forward returned ",
                all.children().size(), " outputs");
  for (std::size_t i = 0; i < all.children().size(); i++)
    for (const Value& v : flatten(all[i]).leaves)
      INGOT_REQUIRE(i == k || !v.is_tensor() || !requires_grad(v.tensor()),
                    "Found an output of the forward that requires gradients, that was not the scalar loss.\n"
                    "We require all outputs to the forward that are not the scalar loss to not require gradient,\n"
                    "because we will only compute a backward graph against the scalar loss.\n"
                    "You can fix this by calling .detach() on each of your forward outputs that is not the loss.\n"
                    "You specified that output index ",
                    k, " is the loss, but we found that\nthe output at index ", i, " requires gradients.");
  const Tensor& loss = all[k].leaf().tensor();
  INGOT_REQUIRE(requires_grad(loss), "The output at index ", k, " was marked as the loss, but it does not require gradients");
  INGOT_REQUIRE(loss.numel() == 1, "We require the output marked as the loss (at index ", k,
                ") to be a scalar, but it has shape ", loss.sizes());
  return all;
}

// What a forward assigns to members of the module (R184): a buffer has the tensor for its next
// value, any other member must be as it was. Until the forward has ended buffers are what they
// were: two may change places, and one that is returned has its elements from before.
Tree call_watched(nn::Module& module, const TreeFunction& forward, const Tree& arguments) {
  nn::NamedTensors before = module.named_parameters(true);
  for (auto& b : module.named_buffers()) before.push_back(std::move(b));
  const nn::AttributeScope attributes(module);
  Tree out = forward(arguments);
  const std::vector<std::string> assigned = attributes.assigned();
  if (!assigned.empty()) {
    std::string names;
    for (const std::string& n : assigned) names += text(names.empty() ? "" : ", ", "self.", n);
    const bool one = assigned.size() == 1;
    throw_user_error(text(
        "The tensor attribute", one ? "" : "s", " ", names, one ? " was" : " were",
        " assigned during export. Such attributes must be registered as buffers using the `register_buffer` API (nn::Module::add_buffer)."));
  }
  nn::NamedTensors after = module.named_parameters(true);
  for (auto& b : module.named_buffers()) after.push_back(std::move(b));
  std::vector<Write> writes;
  for (std::size_t k = 0; k < before.size(); k++)
    if (!after[k].second.is_same(before[k].second)) writes.push_back({before[k].second, after[k].second});
  if (writes.empty()) return out;
  FlatTree results = flatten(out);
  write_at_once(std::move(writes), results.leaves);
  return unflatten(results.leaves, results.spec);
}

struct ModuleExport {
  EntryPoint entry;
  ModuleNames names;
  TensorList state;  // the parameters, then the buffers
  TreeSpec in_spec;  // a tuple of the arguments, and of the dict of keyword arguments where there is one
  TreeSpec out_spec;
};

ModuleExport export_module(nn::Module& module, const TreeFunction& forward, const Tree& arguments, const ExportOptions& options) {
  INGOT_REQUIRE(!options.pre_dispatch || !options.trace_joint, "pre_dispatch is not supported when trace_joint is True.");
  const ModuleFunction m = as_function(module, [&](const Tree& given) { return call_watched(module, forward, given); });
  std::vector<Tree> given = arguments.children();
  if (options.kwargs) given.push_back(*options.kwargs);
  const FlatTree flat = flatten(Tree::tuple(std::move(given)));
  Values all(m.state.begin(), m.state.end());
  all.insert(all.end(), flat.leaves.begin(), flat.leaves.end());

  TreeSpec out_spec;
  const FlatFunction f = [&](const Values& leaves) {
    std::vector<Tree> trees;
    for (std::size_t k = 0; k < m.state.size(); k++) trees.emplace_back(leaves[k]);
    const Tree user = unflatten(Args(leaves).subspan(m.state.size()), flat.spec);
    trees.insert(trees.end(), user.children().begin(), user.children().end());
    Tree out = m.f(Tree::tuple(std::move(trees)));
    FlatTree results = flatten(options.trace_joint ? with_loss(out, options.output_loss_index) : out);
    out_spec = std::move(results.spec);
    return std::move(results.leaves);
  };
  FlatExport e = export_flat(f, all, options, true);
  INGOT_REQUIRE(!options.trace_joint || e.meta.intermediate_bases == 0,
                "the loss and another output are views of one tensor, which is no output itself, so that its "
                "gradient would have to come from outside of the graph; return a clone() of one of them");
  ModuleNames names{m.parameters, m.buffers, {}, {}};
  if (options.trace_joint) {
    names.output_loss_index = options.output_loss_index;
    for (const Value& v : e.fakes) names.gradients.push_back(v.is_tensor() && requires_grad(v.tensor()));
  }
  EntryPoint entry = exported_entry(std::move(e.graph), e.meta, names);
  return {std::move(entry), std::move(names), m.state, flat.spec, std::move(out_spec)};
}

// How a program is called: with a tuple of positional and a dict of keyword arguments.
CallSpec call_spec_of(TreeSpec arguments, TreeSpec results, bool has_keywords) {
  TreeSpec keywords = flatten(Tree::dict({})).spec;
  if (has_keywords) {
    keywords = std::move(arguments.children.back());
    arguments.children.pop_back();
  }
  TreeSpec call = flatten(Tree::tuple({})).spec;
  call.children = {std::move(arguments), std::move(keywords)};
  return {std::move(call), std::move(results), {}};
}

// Which number of the caller's inputs a symbol is.
std::map<std::string, InputFact> where_given(const EntryPoint& entry) {
  std::map<std::string, InputFact> found;
  const auto add = [&](const Int& n, const InputFact& fact) {
    if (!n.is_number() && n.expr().op() == ExprOp::Sym) found.emplace(n.expr()->name, fact);
  };
  const std::vector<const InputSpec*> inputs = entry.user_inputs();
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const Value& meta = inputs[i]->node->meta;
    if (meta.is_int()) add(meta.to_int(), {i, InputFact::Kind::value, 0});
    if (!meta.is_tensor()) continue;
    for (int d = 0; d < meta.tensor().dim(); d++) add(meta.tensor().size(d), {i, InputFact::Kind::size, d});
  }
  return found;
}

void add_open_sizes(const ShapeEnv& sizes, EntryPoint& entry) {
  const std::map<std::string, InputFact> facts = where_given(entry);
  for (const auto& [name, fact] : facts) {
    const ShapeEnv::Symbol* symbol = sizes.find(name);
    INGOT_ENSURE(symbol, "the symbol ", name, " is not of the export's environment");
    const Range r = sizes.range(symbol->expr);
    SymbolRange& range = entry.symbol_ranges[name];
    range.min = r.lo;
    if (r.hi != kUnbounded) range.max = r.hi;
    if (symbol->hint) entry.symbol_hints[name] = *symbol->hint;
  }
  for (const Guard& g : sizes.guards()) {
    const Expr holds = g.answer ? g.condition : logical_not(g.condition);
    std::map<std::string, InputFact> asked;
    visit(holds, [&](const Expr& e) {
      if (e.op() != ExprOp::Sym) return;
      const auto it = facts.find(std::string(e->name));
      INGOT_REQUIRE(it != facts.end(), "the export needs ", readable(holds), ", and no input has ", e->name,
                    " for a size of its own, so that no call can be checked; give one a dim of this size alone");
      asked.insert(*it);
    });
    entry.conditions.push_back({readable(holds), holds, std::move(asked)});
  }
}

// ---- functions

// How containers nest, in the reference's words: TreeSpec(list, None, [*, *]).
std::string to_text(const TreeSpec& s) {
  if (s.is_leaf()) return "*";
  std::string keys, children;
  for (const Value& k : s.keys) keys += text(keys.empty() ? "" : ", ", k);
  for (const TreeSpec& c : s.children) children += (children.empty() ? "" : ", ") + to_text(c);
  return text("TreeSpec(", s.type.substr(s.type.rfind('.') + 1), ", ", s.keys.empty() ? "None" : "[" + keys + "]", ", [",
              children, "])");
}

bool is_flat(const TreeSpec& s) {
  return std::all_of(s.children.begin(), s.children.end(), [](const TreeSpec& c) { return c.is_leaf(); });
}

// R183: the graph is called as the function is.
void require_simple(const Metadata& m, const TreeSpec& in, const TreeSpec& out) {
  constexpr std::string_view kName = "aot_export_joint_simple";
  INGOT_REQUIRE(!any(m.inputs, [](const InputInfo& i) { return i.mutates_data || i.mutates_metadata; }), kName,
                " does not support input mutations. ", to_text(m));
  INGOT_REQUIRE(
      std::all_of(m.outputs.begin(), m.outputs.end(), [](const OutputInfo& o) { return o.kind == OutputKind::non_alias; }), kName,
      " does not support outputs that alias inputs. ", to_text(m));
  INGOT_REQUIRE(!in.is_leaf(), kName, " requires inputs to be a single list/tuple. in_spec=", to_text(in));
  INGOT_REQUIRE(is_flat(in), kName, " requires individual inputs not to be pytrees. in_spec=", to_text(in));
  INGOT_REQUIRE(!out.is_leaf(), kName, " requires outputs to be a single list/tuple. out_spec=", to_text(out));
  INGOT_REQUIRE(is_flat(out), kName, " requires individual outputs not to be pytrees. out_spec=", to_text(out));
}

}  // namespace

Exported aot_export_module(nn::Module& module, const TreeFunction& forward, const Tree& arguments, const ExportOptions& options) {
  ModuleExport m = export_module(module, forward, arguments, options);
  GraphSignature signature = make_signature(m.entry, m.names, std::move(m.in_spec), std::move(m.out_spec));
  return {std::move(m.entry.graph), std::move(signature)};
}

Program aot_export_program(nn::Module& module, const TreeFunction& forward, const Tree& arguments, const ExportOptions& options) {
  ModuleExport m = export_module(module, forward, arguments, options);
  m.entry.call_spec = call_spec_of(std::move(m.in_spec), std::move(m.out_spec), options.kwargs.has_value());
  if (options.sizes) add_open_sizes(*options.sizes, m.entry);
  Program p;
  p.name = "the exported module";
  p.producer = "ingot";
  p.entries[0] = std::move(m.entry);
  const auto add = [&](const std::vector<std::string>& names, bool are_parameters, std::size_t first) {
    for (std::size_t k = 0; k < names.size(); k++) {
      const Tensor& t = m.state[first + k];
      StateEntry& e = p.state[names[k]];
      e.tensor = t;
      e.sizes = t.sizes();
      e.strides = t.strides();
      e.offset = t.storage_offset();
      e.dtype = t.dtype();
      e.is_parameter = are_parameters;
      e.requires_grad = t.requires_grad();
    }
  };
  add(m.names.parameters, true, 0);
  add(m.names.buffers, false, m.names.parameters.size());
  p.prepare();
  return p;
}

Graph aot_export_joint_simple(const TreeFunction& f, const Tree& arguments, const ExportOptions& options) {
  INGOT_REQUIRE(!options.pre_dispatch && !options.kwargs && !options.output_loss_index,
                "aot_export_joint_simple: pre_dispatch, kwargs and output_loss_index are for modules (aot_export_module)");
  const FlatTree flat = flatten(arguments);
  TreeSpec out_spec;
  FlatExport e = export_flat(
      [&](const Values& leaves) {
        FlatTree out = flatten(f(unflatten(leaves, flat.spec)));
        out_spec = std::move(out.spec);
        return std::move(out.leaves);
      },
      flat.leaves, options, false);
  require_simple(e.meta, flat.spec, out_spec);
  return std::move(e.graph);
}

}  // namespace ingot::aot
