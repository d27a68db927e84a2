#include "aot/context.hpp"

#include <atomic>

#include "base/error.hpp"

namespace ingot::aot {
namespace {

std::atomic<int> next_id = 0;
thread_local CompileContext current;

}  // namespace

int take_id() { return next_id++; }
void number_from(int next) { next_id = next; }

std::string CompileContext::graph_name() const {
  std::string joined;
  for (const std::string& n : names) joined += joined.empty() ? n : "_" + n;
  return text(model, "__", joined, "_", number);
}

const CompileContext& compile_context() { return current; }
void set_model_name(std::string name) { current.model = std::move(name); }

std::string_view to_text(GraphKind kind) {
  switch (kind) {
    case GraphKind::joint: return "joint";
    case GraphKind::forward: return "forward";
    case GraphKind::backward: return "backward";
    case GraphKind::inference: return "inference";
  }
  return "";
}

// A compiler may itself compile: the names of the graph around it come back afterwards.
CompileScope::CompileScope(int id, GraphKind kind) : outer_(std::move(current.names)) {
  current.names = {text(id, "_", to_text(kind))};
}

CompileScope::~CompileScope() {
  current.names = std::move(outer_);
  current.number++;
}

}  // namespace ingot::aot
