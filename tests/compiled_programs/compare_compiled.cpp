#include "compiled_programs/compare_compiled.hpp"

#include <exception>

#include "base/error.hpp"
#include "compiler/aot_compiler.hpp"
#include "compiler/compiled_program.hpp"
#include "ingot/ingot.hpp"
#include "ingot/nn.hpp"
#include "support/seen.hpp"
#include "support/test_folder.hpp"

namespace ingot::testing {
namespace {

Comparison refused_by_compiler(const std::string& message) {
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (says("Could not extract specialized integer") || says("Could not guard on data-dependent expression"))
    return {Agreement::refused_data, message};
  if (says("Found an input that received a metadata mutation")) return {Agreement::refused_looks, message};
  if (says("sizes of the inputs: expected ")) return {Agreement::refused_sizes, message};
  return refused(message);
}

std::vector<OpenSize> open_sizes(const Program& p) {
  std::vector<OpenSize> l;
  for (std::size_t i = 0; i < p.inputs.size(); i++) {
    const std::vector<int64_t>& sizes = p.bases[static_cast<std::size_t>(p.inputs[i].base)].sizes;
    for (std::size_t d = 0; d < sizes.size(); d++)
      if (sizes[d] < 0) l.push_back({static_cast<int>(i), static_cast<int>(d), text("n", -1 - sizes[d])});
  }
  return l;
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
    static_cast<Comparison&>(c) = refused_by_compiler(e.what());
    return c;
  } catch (const std::exception& e) {
    return differs(text("threw ", e.what()));
  }
  for (std::size_t setting = 0; setting < p.settings.size(); setting++) {
    const InputOptions options{.gradients = false, .setting = setting};
    Outcome eager, compiled;
    try {
      eager = outcome_of(p, options, body);
    } catch (const UserError&) {
      c.eager_refuses++;
      continue;
    }
    try {
      compiled = outcome_of(p, options, [&](const TensorList& in) {
        std::vector<Tree> args(in.begin(), in.end());
        TensorList results;
        const Tree out = (*model)(Tree::tuple(std::move(args)));
        for (const Tree& t : out.children()) results.push_back(t.leaf().tensor());
        return results;
      });
    } catch (const UserError& e) {
      static_cast<Comparison&>(c) = refused_by_compiler(e.what());
      return c;
    } catch (const std::exception& e) {
      return differs(text("setting ", setting, " threw ", e.what()));
    }
    // A library by itself returns tensors without gaps, writes inputs where they lie, and has a random stream of its own.
    for (Outcome* o : {&eager, &compiled}) o->keeps_strides = o->counts_writes = false;
    Allowance allowance(p, setting, false);
    if (eager.results.size() != compiled.results.size()) return differs("another number of results");
    if (auto d = allowance.difference(seen(eager), seen(compiled))) return differs(text("setting ", setting, ": ", *d));
    c.compared++;
  }
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

}  // namespace ingot::testing
