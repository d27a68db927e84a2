#include "aot/cache_key.hpp"

#include <algorithm>

#include "aot/min_cut.hpp"
#include "aot/tracing_context.hpp"
#include "autograd/meta.hpp"
#include "base/build_id.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "graph/text.hpp"
#include "ingot/state.hpp"
#include "io/dense.hpp"
#include "op/call.hpp"
#include "pass/pass.hpp"

namespace ingot::aot {
namespace {

// R186.
void require_known_nodes(const Graph& g) {
  for (const auto& n : g.nodes()) {
    INGOT_REQUIRE(n->kind != NodeKind::unsupported, "Unsupported call_function target ", n->target);
    INGOT_REQUIRE(n->kind != NodeKind::vmap, "Unsupported call_function target ", target_of(n->vmap_call));
    if (n->kind != NodeKind::call) continue;
    const std::string& ns = n->op->schema.ns;
    INGOT_REQUIRE(ns == "aten" || ns == "prims" || ns == "inductor" || ns == "higher_order", "Unsupported call_function target ",
                  n->op->qualified());
  }
}

// What the compiler sees of an argument, and which others it shares memory with.
std::string argument_text(const Values& arguments, std::size_t k) {
  const Value& v = arguments[k];
  if (!v.is_tensor()) return text(v.kind_name(), " ", v, "\n");
  const Tensor& t = v.tensor();
  const auto first = [&](const auto& is) {
    return std::find_if(arguments.begin(), arguments.end(), [&](const Value& o) { return o.is_tensor() && is(o.tensor()); }) -
           arguments.begin();
  };
  const AutogradMeta* m = autograd_meta(t);
  const Tensor base = m && m->view ? m->view->base : Tensor();
  return text(short_name_of(t.dtype()), to_text(t.sizes()), to_text(t.strides()), " at ", t.storage_offset(), " of ",
              t->storage->nbytes(), " on ", t.device(), " requires_grad=", requires_grad(t), " leaf=", is_leaf(t),
              " inference=", t->inference, " open=", m ? m->open_dims : 0,
              " same=", first([&](const Tensor& o) { return o.is_same(t); }),
              " storage=", first([&](const Tensor& o) { return o->storage == t->storage; }), " view=", base.defined(),
              base.defined() ? static_cast<int>(m->view->creation) : 0, " base=", first([&](const Tensor& o) {
                const AutogradMeta* om = autograd_meta(o);
                return base.defined() && (o.is_same(base) || (om && om->view && om->view->base.is_same(base)));
              }),
              "\n");
}

std::string layout_text(const DenseLayout& l) {
  std::string s;
  for (std::size_t k = 0; k < l.outer_size(); k++)
    s += text(to_text(l[k]), to_text(l[k].sizes), to_text(l[k].strides), to_text(l[k].metadata), "\n");
  return s;
}

}  // namespace

std::string keyed_text(const Graph& g) {
  require_known_nodes(g);
  std::string s = print(g, GraphForm::full);
  for (const auto& [name, held] : g.attributes) {
    if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&held)) {
      s += text(name, ":\n", keyed_text(**inner));
      continue;
    }
    const Tensor& t = std::get<Tensor>(held);
    INGOT_REQUIRE(!t->is_fake() && !requires_grad(t), "the function brings along a tensor of size ", t.sizes(),
                  t->is_fake() ? " that has no data" : " that requires grad");
    const Tensor dense = row_major(t);
    s += text(name, ": ", short_name_of(t.dtype()), to_text(t.sizes()), to_text(t.strides()), " ",
              sha256({static_cast<const char*>(dense.data_ptr()),
                      static_cast<std::size_t>(dense.numel().value() * size_of(dense.dtype()))}),
              "\n");
  }
  return s;
}

std::string keyed_text(const Value& example) {
  if (!example.is_tensor()) return text(example.kind_name(), " ", example, "\n");
  const Tensor& t = example.tensor();
  return text(short_name_of(t.dtype()), to_text(t.sizes()), to_text(t.strides()), " at ", t.storage_offset(), " on ", t.device(),
              "\n");
}

std::string cache_key(const Captured& captured, const Values& arguments, const AotOptions& options, const std::string& settings) {
  const std::string build = build_id();
  INGOT_REQUIRE(
      !build.empty(),
      "the program was linked without a build id (--build-id), so that entries of another build could not be told from its own");
  std::string s = text("build ", build, "\n", settings, "\n", keyed_text(captured.graph), layout_text(captured.inputs),
                       layout_text(captured.results));
  for (std::size_t k = 0; k < arguments.size(); k++) s += argument_text(arguments, k);
  s += text("params_and_buffers=", options.params_and_buffers, " keep=", options.keep_inference_input_mutations,
            " dynamic=", options.dynamic, " static_weights=", options.static_weight_shapes,
            " one_symbol=", options.one_symbol_for_equal_sizes, " log=", options.enable_log,
            " debug_assert=", options.debug_assert, " most_sharing=", options.most_sharing_with_open_sizes,
            " view_replay=", options.view_replay_for_aliased_outputs, " unlift=", options.unlift_effect_tokens, "\n");
  const auto* cut = options.partition.target<MinCutPartitioner>();
  s += to_text(cut ? cut->options : MinCutOptions()) + "\n";
  for (const std::string& name : skipped_passes()) s += text("without ", name, "\n");
  if (options.context) {
    s += text("inlines_modules=", options.context->inlines_modules);
    for (const std::string& source : options.context->argument_sources) s += text(" ", source);
    s += "\n";
  }
  const AutocastState autocast = autocast_state();
  s += text("grad_mode=", thread_state().grad_mode, " left=", captured.grad_mode ? static_cast<int>(*captured.grad_mode) : -1,
            " inference_mode=", thread_state().inference_mode, " autocast=", autocast.enabled, short_name_of(autocast.dtype),
            " deterministic=", are_deterministic_algorithms_enabled());
  return "a" + sha256(s);
}

}  // namespace ingot::aot
