#include "aot/compiler_run.hpp"

#include <optional>

#include "ingot/autograd.hpp"
#include "ingot/state.hpp"

namespace ingot::aot {
namespace {

Boxed with_autocast_off(Boxed run) {
  return [run = std::move(run)](Values& arguments) {
    const AutocastGuard off(bfloat16, false);
    return run(arguments);
  };
}

}  // namespace

CompilerRun::CompilerRun(int id, std::shared_ptr<ShapeEnv> sizes)
    : id_(id), sizes_(std::move(sizes)), autocast_(autocast_state().enabled) {}

Boxed CompilerRun::operator()(const Compiler& compiler, const std::shared_ptr<const Graph>& graph, const Values& examples,
                              GraphKind kind) const {
  const GuardScope guards(*sizes_);
  const CompileScope scope(id_, kind);
  if (!autocast_) return compiler(graph, examples);
  const AutocastGuard off(bfloat16, false);
  return with_autocast_off(compiler(graph, examples));
}

BoxedPair CompilerRun::operator()(const PairCompiler& compiler, const GraphPair& graphs) const {
  const GuardScope guards(*sizes_);
  const CompileScope scope(id_, GraphKind::forward);
  if (!autocast_) return compiler(graphs);
  const AutocastGuard off(bfloat16, false);
  BoxedPair made = compiler(graphs);
  made.forward = with_autocast_off(std::move(made.forward));
  if (made.backward) made.backward = with_autocast_off(std::move(made.backward));
  return made;
}

Boxed without_autocast(Boxed run) { return autocast_state().enabled ? with_autocast_off(std::move(run)) : run; }

}  // namespace ingot::aot
