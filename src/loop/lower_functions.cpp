// Ops that call functions: their graphs become steps inside a branch or a loop.
#include "base/index.hpp"
#include "loop/lowerer.hpp"
#include "op/applied.hpp"
#include "op/function.hpp"

namespace ingot::loop {

Lowerer::Lowerer(const Graph& function, Lowerer& caller, Steps& steps, const std::vector<Elements>& arguments, std::string prefix)
    : graph_(function), lowered_(caller.lowered_), program_(caller.program_), steps_(&steps), prefix_(std::move(prefix)),
      uses_(uses_of(function)), values_(uses_.size()) {
  INGOT_ENSURE(function.inputs().size() == arguments.size(), "a function of ", function.inputs().size(),
               " arguments is called with ", arguments.size());
  for (std::size_t k = 0; k < arguments.size(); k++) set_values(*function.inputs()[k], {arguments[k]});
}

std::vector<Elements> Lowerer::lower_function(const Argument& function, Steps& steps, const std::vector<Elements>& arguments,
                                              const Node& caller) {
  INGOT_REQUIRE(function.is_node() && function.node()->kind == NodeKind::attribute, caller.name,
                ": a function that is no graph has no compiled form");
  const Attribute* a = graph_.find_attribute(function.node()->target);
  const Graph& graph = *std::get<std::shared_ptr<const Graph>>(*a);
  Lowerer inner(graph, *this, steps, arguments, text(prefix_, caller.name, ".", function.node()->target, "."));
  for (const auto& n : graph.nodes())
    if (inner.uses_[at(n->id)].users > 0 && n->kind != NodeKind::placeholder) inner.lower_node(*n);
  INGOT_REQUIRE(inner.writes_.empty(), caller.name, ": a function that writes its arguments has no compiled form");
  std::vector<Elements> results;
  for (const Argument& r : graph.outputs) {
    INGOT_REQUIRE(r.is_node() && r.node()->meta.is_tensor(), caller.name,
                  ": a function returns something that is no tensor, which has no compiled form");
    results.push_back(inner.values_[at(r.node()->id)][0]);
  }
  return results;
}

std::vector<Elements> Lowerer::operands(const Node& n, std::size_t argument) {
  std::vector<Elements> all;
  for_each_node(n.args[argument], [&](const Node* operand) {
    for (const Elements& e : values_[at(operand->id)])
      all.push_back(stored(text(n.name, ".operand", argument, ".", all.size()), e));
  });
  return all;
}

std::vector<int> Lowerer::add_results(const Node& n) {
  std::vector<int> buffers;
  std::vector<Elements> results;
  const TensorList metas = metas_of(n);
  for (std::size_t k = 0; k < metas.size(); k++) {
    const Geometry g = Geometry::contiguous(metas[k].sizes(), metas[k].dtype());
    buffers.push_back(add_buffer(text(n.name, ".", k), g, Place::arena));
    results.push_back(elements_of(buffers.back(), g.sizes));
  }
  set_values(n, std::move(results));
  return buffers;
}

void Lowerer::assign(Steps& steps, int buffer, const std::vector<Expr>& leading, const Elements& e) {
  std::vector<Expr> vars = variables(e.sizes);
  const Expr value = e.at(vars);
  steps.emplace_back(Computation{buffer, std::move(vars), {}, value, leading});
}

// (predicate, true function, false function, operands)
void Lowerer::choose(const Node& n) {
  const std::vector<Elements> given = operands(n, 3);
  const Argument& predicate = n.args[0];
  Expr condition;
  if (predicate.is_node() && predicate.node()->meta.is_tensor()) {
    const Elements p = stored(n.name + ".predicate", values_[at(predicate.node()->id)][0]);
    condition = cast(DType::b8, p.at(std::vector<Expr>(p.sizes.size(), Expr(0))));
  } else {
    const Value v = meta_of(predicate);
    INGOT_REQUIRE(v.is_bool() || v.is_int(), n.name, ": a predicate that is no tensor should be a bool, found ", v);
    // What open sizes decide, or data has decided, is an expression.
    condition = v.is_bool() ? Expr::boolean(v.to_bool()) : ne(v.to_int().expr(), Expr(0));
  }
  const std::vector<int> results = add_results(n);
  Branch branch{condition, {}, {}};
  for (const auto& [function, steps] : {std::pair{1, &branch.then}, std::pair{2, &branch.otherwise}}) {
    const std::vector<Elements> made = lower_function(n.args[at(function)], *steps, given, n);
    for (std::size_t k = 0; k < made.size(); k++) assign(*steps, results[k], {}, made[k]);
  }
  steps_->emplace_back(std::move(branch));
}

// (condition, body, carried, others): what is carried is overwritten after all of it was computed.
void Lowerer::repeat(const Node& n) {
  const std::vector<Elements> start = operand_values(n, 2), others = operands(n, 3);
  const std::vector<int> carried = add_results(n);
  std::vector<Elements> arguments;
  for (std::size_t k = 0; k < carried.size(); k++) {
    assign(*steps_, carried[k], {}, start[k]);
    arguments.push_back(values_[at(n.id)][k]);
  }
  arguments.insert(arguments.end(), others.begin(), others.end());
  Repeat loop;
  const Elements test = lower_function(n.args[0], loop.test, arguments, n).at(0);
  const int flag = add_buffer(n.name + ".test", Geometry::contiguous(test.sizes, test.dtype), Place::arena);
  assign(loop.test, flag, {}, test);
  loop.condition = cast(DType::b8, elements_of(flag, test.sizes).at(std::vector<Expr>(test.sizes.size(), Expr(0))));
  const std::vector<Elements> next = lower_function(n.args[1], loop.body, arguments, n);
  std::vector<int> kept;
  for (std::size_t k = 0; k < next.size(); k++) {
    kept.push_back(add_buffer(text(n.name, ".next", k), Geometry::contiguous(next[k].sizes, next[k].dtype), Place::arena));
    assign(loop.body, kept.back(), {}, next[k]);
  }
  for (std::size_t k = 0; k < next.size(); k++) assign(loop.body, carried[k], {}, elements_of(kept[k], next[k].sizes));
  steps_->emplace_back(std::move(loop));
}

// What the operands are, wherever they are: read once, before anything of the node is written.
std::vector<Elements> Lowerer::operand_values(const Node& n, std::size_t argument) {
  std::vector<Elements> all;
  for_each_node(n.args[argument], [&](const Node* operand) {
    const std::vector<Elements>& values = values_[at(operand->id)];
    all.insert(all.end(), values.begin(), values.end());
  });
  return all;
}

// One call for each row of the operands at `rows_at`: what is carried comes first among the
// arguments and the results, if there is such a list, and the other results are rows of the node's.
void Lowerer::each_row(const Node& n, std::size_t carried_at, std::size_t rows_at, std::size_t others_at) {
  const bool carries = carried_at < n.args.size();
  const std::vector<Elements> start = carries ? operand_values(n, carried_at) : std::vector<Elements>{},
                              rows = operands(n, rows_at), others = operands(n, others_at);
  const std::vector<int> results = add_results(n);
  INGOT_REQUIRE(!rows.empty(), n.name, ": there is nothing to go along");
  Times loop;
  loop.symbol = Expr::symbol(text("row", program_.symbols.size()), 0);
  loop.count = rows[0].sizes[0].expr();
  add_decided(loop.symbol);

  std::vector<Elements> arguments;
  for (std::size_t k = 0; k < start.size(); k++) {
    assign(*steps_, results[k], {}, start[k]);
    arguments.push_back(values_[at(n.id)][k]);
  }
  for (const Elements& e : rows) {
    Shape sizes = e.sizes;
    sizes.erase(0);
    arguments.push_back({sizes, e.dtype, [e, row = loop.symbol](Index index) {
                           std::vector<Expr> all{row};
                           all.insert(all.end(), index.begin(), index.end());
                           return e.at(all);
                         }});
  }
  arguments.insert(arguments.end(), others.begin(), others.end());
  const std::vector<Elements> made = lower_function(n.args[0], loop.body, arguments, n);
  std::vector<int> kept;
  for (std::size_t k = 0; k < start.size(); k++) {
    kept.push_back(add_buffer(text(n.name, ".next", k), Geometry::contiguous(made[k].sizes, made[k].dtype), Place::arena));
    assign(loop.body, kept.back(), {}, made[k]);
  }
  for (std::size_t k = start.size(); k < made.size(); k++) assign(loop.body, results[k], {loop.symbol}, made[k]);
  for (std::size_t k = 0; k < start.size(); k++) assign(loop.body, results[k], {}, elements_of(kept[k], made[k].sizes));
  steps_->emplace_back(std::move(loop));
}

// An operator of a user's that writes and is no program of other ops: its process makes the
// functional call, as a whole, since only the copies that this makes are the operator's to write.
void Lowerer::apply(const Node& n) {
  Values args;
  for (const Argument& a : n.args) args.push_back(meta_of(a));
  const Op& applied = op(args[at(operator_argument(*n.op))].string());
  INGOT_REQUIRE(keywords_argument(*n.op) >= 0 && is_kernel_alone(applied), n.op->qualified(), " of ", applied.qualified(),
                " has no compiled form");
  INGOT_ENSURE(tensors_of(n.meta), n.name, ": the kernel of ", applied.qualified(), " makes ", n.meta.kind_name());
  // The process knows a base from its first element on.
  for (const ViewByPlace& v : views_by_place(applied, {*n.op, args})) {
    Geometry base = v.base->geom;
    args[v.offset] = args[v.offset].to_int() - base.offset;
    base.offset = 0;
    Elements& elements = by_meta_.at(v.base.impl());
    if (!lies_so(elements, base)) elements = stored_in_order(n, n.name + ".base", elements, base);
  }
  set_values(n, lower_eager(n, {*n.op, args}));
}

void Lowerer::lower_functions(const Node& n) {
  if (applies_another(*n.op)) return apply(n);
  const CallingConvention* convention = calling_convention(*n.op);
  INGOT_REQUIRE(convention, n.op->qualified(), " has no compiled form");
  const std::size_t none = n.args.size();
  switch (convention->control) {
    case Control::choose: return choose(n);
    case Control::repeat: return repeat(n);
    case Control::each_row: return each_row(n, none, 1, 2);
    case Control::carry_rows: return each_row(n, 1, 2, 3);
    case Control::combine:
    case Control::element: break;  // of elements, the program was recorded
  }
  throw_user_error(n.op->qualified() + " has no compiled form");
}

}  // namespace ingot::loop
