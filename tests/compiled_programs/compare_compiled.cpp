#include "compiled_programs/compare_compiled.hpp"

#include <algorithm>
#include <exception>

#include "ingot/decompositions.hpp"
#include "aot/min_cut.hpp"
#include "base/error.hpp"
#include "compiler/aot_compiler.hpp"
#include "compiled_programs/open_sizes.hpp"
#include "compiler/compiled_program.hpp"
#include "compiler/function_program.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "loop/lowerer.hpp"
#include "op/call.hpp"
#include "op/data_dependent.hpp"
#include "support/seen.hpp"
#include "support/test_folder.hpp"
#include "tensor/geometry.hpp"
#include "tensor/random.hpp"

namespace ingot::testing {
namespace {

// Whether an input looks otherwise after the program than before: as it is recorded, for all sizes.
bool changes_looks(const Program& p) {
  TensorList inputs;
  std::vector<Geometry> before;
  const TensorFunction body = [&](const TensorList& in) {
    inputs = in;
    for (const Tensor& t : in) before.push_back(t->geom);
    return run(p, in);
  };
  try {
    trace(body, make_inputs(p, {.gradients = false}).inputs, {.open = open_sizes(p)});
  } catch (const UserError&) {  // what was done until then was done
  }
  bool changes = false;
  for (std::size_t i = 0; i < inputs.size(); i++) changes |= !inputs[i]->geom.same(before[i]);
  return changes;
}
// Whether an input is written that shares its memory with another one.
bool writes_what_is_shared(const Program& p, std::size_t setting) {
  const TensorList inputs = make_inputs(p, {.gradients = false, .setting = setting}).inputs;
  manual_seed(p.seed);
  try {
    run(p, inputs);
  } catch (const UserError&) {  // the same
  }
  return std::ranges::any_of(inputs, [&](const Tensor& t) {
    const auto lies_there = [&](const Tensor& o) { return o->storage == t->storage; };
    return t.version() > 0 && std::ranges::count_if(inputs, lies_there) > 1;
  });
}

// Whether a call asks for data: itself, as control flow, or so that the program cannot be recorded.
bool decides_by_data(const Program& p) {
  const bool any_depends = std::ranges::any_of(p.body, [](const Step& s) {
    const Op* op = find_op(s.op);
    const bool is_control_flow =
        std::ranges::any_of(program_functions(), [&](const ProgramFunction& f) { return s.op == f.name; });
    return is_control_flow || (op && depends_on_data(*op));
  });
  if (any_depends) return true;
  try {
    trace([&p](const TensorList& in) { return run(p, in); }, make_inputs(p, {.gradients = false}).inputs,
          {.open = open_sizes(p)});
  } catch (const UserError& e) {
    return std::string_view(e.what()).find("data-dependent expression") != std::string_view::npos;
  }
  return false;
}

// The library's random stream starts where the thread's is, and the thread's goes on where it ends.
TensorList run_library(const CallableModel& model, const TensorList& in) {
  Draw draw = default_generator()->state();
  const ModelContainerRunner& runner = model.runner();
  runner.library().ingot_container_set_draw(runner.container(), draw.seed, draw.offset);
  std::vector<Tree> args(in.begin(), in.end());
  TensorList results;
  const Tree out = model(Tree::tuple(std::move(args)));
  for (const Tree& t : out.children()) results.push_back(t.leaf().tensor());
  runner.library().ingot_container_get_draw(runner.container(), &draw.seed, &draw.offset);
  default_generator()->set_state(draw);
  return results;
}

std::optional<Outcome> eager_run(const Program& p, const InputOptions& options, std::string& refusal) {
  try {
    return outcome_of(p, options, [&p](const TensorList& in) { return run(p, in); });
  } catch (const UserError& e) {
    refusal = e.what();
    return std::nullopt;
  }
}

// By input and by result, its dims, innermost first, if it is recorded as one without gaps at all
// sizes. Functionalized, as libraries are: whether elements of an input may lie on each other fixes
// sizes, and with those more orders are known.
using DenseOrder = std::optional<std::vector<std::size_t>>;
struct DenseOrders {
  std::vector<DenseOrder> inputs, results;
};
DenseOrders dense_orders(const Program& p) {
  const TensorFunction body = [&p](const TensorList& in) { return run(p, in); };
  const Traced traced = trace(functionalize(body, {.counts_writes = false}),
                              lying_apart(make_inputs(p, {.gradients = false}).inputs), {.open = open_sizes(p)});
  DenseOrders orders;
  for (const Node* n : traced.graph.inputs()) orders.inputs.push_back(loop::dense_order(n->meta.tensor()->geom));
  for (const Argument& a : traced.graph.outputs) orders.results.push_back(loop::dense_order(a.node()->meta.tensor()->geom));
  return orders;
}
// What is known to have no gaps keeps its order of dims, also at sizes at which eager has gaps: an
// argument is copied to lie as it was recorded. Any other result, whatever its sizes now, is
// row-major.
Tensor as_a_library_returns_it(const Tensor& t, const DenseOrder& inner_first) {
  if (t.numel().value() == 0 || !inner_first) return t.contiguous().clone();
  Shape outer_first, back = Shape::filled(inner_first->size(), 0);
  for (std::size_t k = inner_first->size(); k-- > 0;) {
    back[(*inner_first)[k]] = outer_first.dim();
    outer_first.push_back(static_cast<int64_t>((*inner_first)[k]));
  }
  return aten<"permute">(aten<"permute">(t, outer_first).contiguous().clone(), back);
}

// Whether an input lies otherwise than without gaps in the order of dims that was recorded, or was
// not recorded so: what has to be laid out, or may not be.
bool lies_otherwise(const Program& p, std::size_t setting) {
  const TensorList inputs = make_inputs(p, {.gradients = false, .setting = setting}).inputs;
  const std::vector<DenseOrder> recorded = dense_orders(p).inputs;
  for (std::size_t i = 0; i < inputs.size(); i++)
    if (!recorded.at(i) || !inputs[i].strides().same(as_a_library_returns_it(inputs[i], recorded[i]).strides())) return true;
  return false;
}

Comparison refused_by_compiler(const Program& p, const std::string& message, std::size_t setting = 0) {
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if ((says("Could not extract specialized integer") || says("Could not guard on data-dependent expression")) &&
      decides_by_data(p))
    return {Agreement::refused_data, message};
  if (says("Found an input that received a metadata mutation") && changes_looks(p)) return {Agreement::refused_looks, message};
  if (says("expected memory apart from all other inputs, since the run writes it") && writes_what_is_shared(p, setting))
    return {Agreement::refused_aliases, message};
  if ((says("lying so, elements share their places at these sizes, and no copy can be made") ||
       says("the program takes views of it by places of its storage")) &&
      lies_otherwise(p, setting))
    return {Agreement::refused_strides, message};
  if ((says("sizes of the inputs: expected ") || says("): size of dim ")) && p.settings[setting] != p.settings[0])
    return {Agreement::refused_sizes, message};
  return refused(p, message, setting, true);
}

// Eager on inputs that lie as they did when the program was recorded, each in memory of its own, as
// a library lays out those that lie otherwise; what it writes to them is written to the inputs.
// Nothing, and the refusal as it is, where all of them lie so already.
std::optional<Outcome> run_laid_out(const Program& p, const InputOptions& options, const std::vector<DenseOrder>& recorded,
                                    std::string& refusal) {
  const TensorList inputs = make_inputs(p, options).inputs;
  bool any_lies_otherwise = false;
  for (std::size_t i = 0; i < inputs.size(); i++)
    any_lies_otherwise |= !inputs[i].strides().same(as_a_library_returns_it(inputs[i], recorded.at(i)).strides());
  if (!any_lies_otherwise) return std::nullopt;
  try {
    return outcome_of(p, options, [&](const TensorList& in) {
      TensorList laid_out;
      for (std::size_t i = 0; i < in.size(); i++) laid_out.push_back(as_a_library_returns_it(in[i], recorded.at(i)));
      TensorList results = run(p, laid_out);
      for (std::size_t i = 0; i < in.size(); i++)
        if (laid_out[i].version() > 0) Tensor(in[i]).copy_(laid_out[i]);
      return results;
    });
  } catch (const UserError& e) {
    refusal = e.what();
    return std::nullopt;
  }
}

// Of the program a module whose parameters are its weights.
class ProgramModule final : public nn::Module {
 public:
  ProgramModule(const Program& p, const TensorList& inputs) : weights_(inputs.size()) {
    for (std::size_t i = 0; i < inputs.size(); i++) {
      if (!is_weight(p, i)) continue;
      if (inputs[i].requires_grad()) add_parameter(text("w", i), weights_[i], inputs[i]);
      else add_buffer(text("w", i), weights_[i], inputs[i]);
    }
  }
  static bool is_weight(const Program& p, std::size_t i) {
    const Base& b = p.bases[static_cast<std::size_t>(p.inputs[i].base)];
    return b.is_weight && p.inputs[i].views.empty();
  }
  TensorList with_weights(const Tree& args) const {
    TensorList all;
    std::size_t next = 0;
    for (const Tensor& w : weights_) all.push_back(w.defined() ? w : args[next++].leaf().tensor());
    return all;
  }

 private:
  TensorList weights_;
};

}  // namespace

const char* name_of(SettingAgreement a) {
  switch (a) {
    case SettingAgreement::agree: return "agree";
    case SettingAgreement::laid_out: return "eager alone refuses: an input lies otherwise than it was recorded";
    case SettingAgreement::both_refuse: return "both refuse";
    case SettingAgreement::other_sizes: return "refused: a size that the recording fixed";
    case SettingAgreement::refused: return "refused, as their program is";
    case SettingAgreement::unread_ran: return "eager alone refuses: a call that nobody reads";
    case SettingAgreement::unread_refused: return "both refuse: a call that nobody reads";
    case SettingAgreement::other_values: return "eager alone refuses: a call makes another number of values";
  }
  return "";
}

CompiledComparison compare_compiled(const Program& p) {
  CompiledComparison c;
  const auto differs = [&](const std::string& what) {
    static_cast<Comparison&>(c) = {Agreement::differs, what};
    return c;
  };
  const TensorFunction body = [&p](const TensorList& in) { return run(p, in); };
  const TestFolder folder;
  std::optional<CallableModel> model;
  try {
    model.emplace(aot_load(
        "cpu", aot_compile(body, make_inputs(p, {.gradients = false}).inputs, folder.file("program.so"), {}, open_sizes(p))));
  } catch (const UserError& e) {
    static_cast<Comparison&>(c) = refused_by_compiler(p, e.what());
    c.settings[SettingAgreement::refused] = static_cast<int>(p.settings.size());
    return c;
  } catch (const std::exception& e) {
    return differs(text("threw ", e.what()));
  }
  std::optional<DenseOrders> orders;
  for (std::size_t setting = 0; setting < p.settings.size(); setting++) {
    const InputOptions options{.gradients = false, .setting = setting};
    std::string eager_says;
    std::optional<Outcome> eager = eager_run(p, options, eager_says), compiled;
    Program ran = p;
    if (!eager) eager = eager_run(ran = without_dead_calls(p), options, eager_says);
    const bool unread = !eager && refuses_unread(ran, options);
    try {
      compiled = outcome_of(p, options, [&](const TensorList& in) { return run_library(*model, in); });
    } catch (const UserError& e) {
      if (!eager) {
        c.settings[unread ? SettingAgreement::unread_refused : SettingAgreement::both_refuse]++;
        continue;
      }
      const Comparison r = refused_by_compiler(p, e.what(), setting);
      if (r.agreement == Agreement::refused_sizes && setting > 0) {
        c.settings[SettingAgreement::other_sizes]++;
        continue;
      }
      if (r.agreement == Agreement::refused_aliases || (r.agreement == Agreement::refused_strides && setting > 0)) {
        static_cast<Comparison&>(c) = r;
        return c;
      }
      return differs(text("setting ", setting, ": ", r.what));
    } catch (const std::exception& e) {
      return differs(text("setting ", setting, " threw ", e.what()));
    }
    if (!eager && (unread || makes_other_values(p, options))) {
      c.settings[unread ? SettingAgreement::unread_ran : SettingAgreement::other_values]++;
      continue;
    }
    const bool as_it_lies = eager.has_value();
    if (!orders) orders = dense_orders(p);
    if (!as_it_lies) eager = run_laid_out(ran, options, orders->inputs, eager_says);
    if (!eager) return differs(text("setting ", setting, " is refused by eager alone: ", eager_says));
    if (eager->results.size() != compiled->results.size()) return differs("another number of results");
    for (std::size_t k = 0; k < eager->results.size(); k++)
      eager->results[k] = as_a_library_returns_it(eager->results[k], orders->results.at(k));
    eager->counts_writes = compiled->counts_writes = false;  // a library counts nothing
    eager->free_strides = compiled->free_strides;            // by the program as written
    Allowance allowance(ran, setting, false);
    std::optional<std::string> d = allowance.difference(seen(*eager), seen(*compiled));
    if (!d && eager->drawn != compiled->drawn)
      d = text("the run took the random stream ", eager->drawn, " further; got ", compiled->drawn);
    if (!d) d = aliasing_difference(*eager, *compiled);
    if (d) return differs(text("setting ", setting, ": ", *d));
    c.settings[as_it_lies ? SettingAgreement::agree : SettingAgreement::laid_out]++;
  }
  if (c.settings.contains(SettingAgreement::other_sizes))
    c.agreement = c.settings[SettingAgreement::agree] > 1 ? Agreement::agrees_at_some_sizes : Agreement::refused_sizes;
  return c;
}

Comparison compare_compiled_with_gradients(const Program& p) {
  try {
    Comparison c = compare_transformed(p, [&p](const TensorFunction& f) -> TensorFunction {
      bool has_weights = false;
      for (std::size_t i = 0; i < p.inputs.size(); i++) has_weights |= ProgramModule::is_weight(p, i);
      if (!has_weights || p.wrapped) {
        const aot::AotFunction compiled = aot::memory_efficient_fusion(f);
        return [compiled](const TensorList& in) { return compiled(in); };
      }
      return [&p](const TensorList& in) {
        const auto module = std::make_shared<ProgramModule>(p, in);
        const aot::AotModule compiled = aot::memory_efficient_fusion(*module, [module, &p](const Tree& args) {
          std::vector<Tree> out;
          for (const Tensor& t : run(p, module->with_weights(args))) out.emplace_back(t);
          return Tree::tuple(std::move(out));
        });
        std::vector<Tree> args;
        for (std::size_t i = 0; i < in.size(); i++)
          if (!ProgramModule::is_weight(p, i)) args.emplace_back(in[i]);
        TensorList results;
        const Tree out = compiled(Tree::tuple(std::move(args)));
        for (const Tree& t : out.children()) results.push_back(t.leaf().tensor());
        return results;
      };
    });
    return c;
  } catch (const std::exception& e) {
    return {Agreement::differs, text("threw ", e.what())};
  }
}

CompiledComparison compare_open_with_gradients(const Program& p) {
  aot::AotOptions options;
  options.forward = aot::ingot_compiler();
  options.together = aot::ingot_pair_compiler();
  options.partition = [](const aot::Joint& joint) { return aot::partition_min_cut(joint); };
  options.decompositions = &aot::default_decompositions();
  options.dynamic = true;
  const aot::AotFunction compiled = aot::aot_function(TensorFunction([&p](const TensorList& in) { return run(p, in); }), options);
  CompiledComparison c;
  const auto differs = [&](const std::string& what) {
    static_cast<Comparison&>(c) = {Agreement::differs, what};
    return c;
  };
  for (std::size_t setting = 0; setting < p.settings.size(); setting++) {
    const InputOptions at{.setting = setting};
    std::string refusal;
    Program ran = p;
    if (!eager_run(p, at, refusal)) {
      ran = without_dead_calls(p);
      const bool runs_without = eager_run(ran, at, refusal).has_value();
      const bool unread = runs_without || refuses_unread(ran, at);
      try {
        outcome_of(p, at, [&](const TensorList& in) { return compiled(in); });
      } catch (const UserError&) {
        c.settings[unread ? SettingAgreement::unread_refused : SettingAgreement::both_refuse]++;
        continue;
      } catch (const std::exception& e) {
        return differs(text("setting ", setting, " threw ", e.what()));
      }
      // Which calls are dead was found where it makes other values, and is compiled again here.
      const bool other_values = makes_other_values(p, at);
      if (!runs_without || other_values) {
        if (!unread && !other_values) return differs(text("setting ", setting, " is refused by eager alone: ", refusal));
        c.settings[unread && !runs_without ? SettingAgreement::unread_ran : SettingAgreement::other_values]++;
        continue;
      }
    }
    Comparison at_setting;
    try {
      at_setting = compare_transformed(
          ran,
          [&](const TensorFunction&) -> TensorFunction { return [&compiled](const TensorList& in) { return compiled(in); }; },
          setting);
    } catch (const std::exception& e) {
      at_setting = {Agreement::differs, text("threw ", e.what())};
    }
    for (const auto& [kind, n] : at_setting.gradients) c.gradients[kind] += n;
    if (at_setting.agreement != Agreement::agrees) {
      c.agreement = at_setting.agreement;
      c.what = text("setting ", setting, ": ", at_setting.what);
      if (c.agreement == Agreement::differs) return c;
      c.settings[SettingAgreement::refused]++;
      continue;
    }
    c.settings[SettingAgreement::agree]++;
  }
  return c;
}

}  // namespace ingot::testing
