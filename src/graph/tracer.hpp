// The recorder behind `trace`: what the calls of one traced function become.
#pragma once
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/trace.hpp"
#include "op/call.hpp"
#include "op/side_effects.hpp"

namespace ingot {

class Tracer final : private ProgramListener {
 public:
  // `outer`: the tracer of the function that brings this one along, whose values this one may use
  // as constants of its own.
  Tracer(Graph& graph, const TraceOptions& options, Tracer* outer = nullptr) : graph_(graph), options_(options), outer_(outer) {}

  // A placeholder for a value of the function's arguments.
  void bind_input(const Value& v, std::string_view name);
  // A placeholder for the token of ordered effects, of which there is one kind (R168).
  void bind_token(std::string_view name);
  Node* token() const { return token_; }  // the latest
  bool met_effect() const { return met_effect_; }
  // The trace layer: a node for the call, and the call below it. A mode that records for the
  // tracer, above wrapper tensors, says so.
  Value record(const Op& op, Args args, Layer at = Layer::trace);
  // The graph's value for a tensor or number of the traced function.
  Argument argument(const Value& v);
  // Values of the outer function that this one used; its graph has them as attributes, to be made
  // inputs.
  const Values& captured() const { return captured_; }

  bool is_inner() const { return outer_ != nullptr; }  // records a function of an op

 private:
  friend class TracerScope;
  struct Source {
    Node* node;
    int dim;
  };

  Graph& graph_;
  const TraceOptions& options_;
  Tracer* outer_;
  Values captured_;
  Node* token_ = nullptr;
  bool met_effect_ = false;
  std::unordered_map<uint64_t, Node*> tensors_;  // by TensorImpl::identity
  std::unordered_map<Expr, Node*, ExprHash, ExprSame> numbers_;
  std::unordered_map<Expr, Source, ExprHash, ExprSame> symbols_;  // where a symbol can be read
  std::unordered_set<const Op*> decomposing_;
  std::unordered_set<const Node*> constant_;  // nodes that no input leads to

  // Nodes for them, in a trace above autograd: below it, gradients are calls like others.
  void grad_mode_set(bool on) override;
  void called(const Op& op, Args args) override;
  void side_effect(std::string_view what) override;
  bool records_functions() const override { return options_.faithful; }
  std::string record_function(std::string_view name, const Values& inputs, const std::function<Values()>& f) override;
  void called(const Op& op, const std::vector<std::string>& functions, Args args, const Value& results) override;
  bool takes_apart(const Op& op, Args args) const override;
  bool keeps_loops() const override { return options_.keep_loops; }

  static void note_source(Node& n);
  void bind(const Tensor& t, Node* n);
  void bind_result(const Value& r, Node* n);
  Value record_functions(const Op& op, Args args);
  Value record_effect(const Op& op, Args args, Layer at);
  bool knows(const Tensor& t) const { return tensors_.contains(t->identity()) || (outer_ && outer_->knows(t)); }
  void refuse_constant(const Op& op, const Argument& self) const;
  void refuse_data(const Op& op, Args args, const Value& r, const Node& n) const;
  Node* node_of(const Tensor& t);
  Node* node_of(const Expr& e);
  Node* make_number(const Expr& e);
  Argument operand(const Expr& e);
};

// The tracer of this thread, or null.
Tracer* current_tracer();

// Calls on this thread go to `tracer` in the scope.
class TracerScope {
 public:
  explicit TracerScope(Tracer& tracer);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* old_;
  ProgramListener* old_listener_;
  uint8_t old_active_;
};

}  // namespace ingot
