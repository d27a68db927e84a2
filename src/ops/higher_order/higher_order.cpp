// Ops that call functions: control flow, and regions that run under other settings. Eagerly each is
// the program it stands for, so gradients flow through whatever ran. Their schemas are ours:
// PyTorch has none for them.
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/guards.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/batching.hpp"
#include "op/call.hpp"
#include "op/function.hpp"
#include "op/tensors.hpp"
#include "ops/family.hpp"
#include "ops/higher_order/applied.hpp"
#include "ops/higher_order/flex.hpp"
#include "ops/higher_order/gradients.hpp"
#include "ops/higher_order/random_state.hpp"

namespace ingot {
namespace {

Values concatenated(std::initializer_list<Values> lists) {
  Values all;
  for (const Values& l : lists) all.insert(all.end(), l.begin(), l.end());
  return all;
}

bool holds(const Value& v) {
  if (!v.is_tensor()) return v.to_bool();
  INGOT_REQUIRE(v.tensor().numel() == 1, "a condition should have one element, found size ", v.tensor().sizes());
  return aten_value<"_local_scalar_dense">(v.tensor()).to_scalar().to_double() != 0;
}

// ---- control flow

// Two functions that stand for each other must return the same kinds of values.
void require_alike(const Op& op, const Values& a, const Values& b, std::string_view what_a, std::string_view what_b) {
  INGOT_REQUIRE(a.size() == b.size(), op.schema.name, ": ", what_a, " has ", a.size(), " results and ", what_b, " ", b.size());
  for (std::size_t k = 0; k < a.size(); k++) {
    INGOT_REQUIRE(a[k].is_tensor() == b[k].is_tensor(), op.schema.name, ": result ", k, " of ", what_a, " is ", a[k].kind_name(),
                  ", of ", what_b, " ", b[k].kind_name());
    if (!a[k].is_tensor()) continue;
    const Tensor &x = a[k].tensor(), &y = b[k].tensor();
    INGOT_REQUIRE(x.dtype() == y.dtype() && x.sizes() == y.sizes(),
                  "Expected each tensor to have same metadata but got: ", op.schema.name, " result ", k, " of ", what_a, " is ",
                  name_of(x.dtype()), x.sizes(), ", of ", what_b, " ", name_of(y.dtype()), y.sizes());
  }
}
Value cond(const Call& c) { return list_value((holds(c[0]) ? c[1] : c[2]).function()(list_elements(c[3]))); }

// Calls visit(carried) after each step, and returns what the last step left.
template <class F>
Values loop_while(const Call& c, F&& visit) {
  const Callable &condition = c[0].function(), &body = c[1].function();
  Values carried = list_elements(c[2]);
  const Values others = list_elements(c[3]);
  for (bool first = true;; first = false) {
    const Values args = concatenated({carried, others});
    const Values go_on = condition(args);
    INGOT_REQUIRE(go_on.size() == 1, "the condition should have one result, found ", go_on.size());
    if (!holds(go_on[0])) {
      // The results are the caller's own, also when nothing ran.
      if (first)
        for (Value& v : carried)
          if (v.is_tensor()) v = aten<"clone">(v.tensor());
      return carried;
    }
    Values next = body(args);
    require_alike(c.op, carried, next, "what is carried", "the body");
    carried = std::move(next);
    visit(carried);
  }
}

Value while_loop(const Call& c) {
  return list_value(loop_while(c, [](const Values&) {}));
}

Value stacked(const std::vector<Values>& steps, std::size_t from) {
  Values out;
  for (std::size_t k = from; !steps.empty() && k < steps[0].size(); k++) {
    TensorList column;
    for (const Values& step : steps) column.push_back(step[k].tensor());
    out.push_back(aten<"stack">(column, 0));
  }
  return list_value(std::move(out));
}

Value while_loop_stack_output(const Call& c) {
  std::vector<Values> steps;
  const Values last = loop_while(c, [&](const Values& carried) { steps.push_back(carried); });
  if (!steps.empty()) return stacked(steps, 0);
  Values none;
  for (const Value& v : last) none.push_back(aten<"slice.Tensor">(v.tensor().unsqueeze(0), 0, 0, 0));
  return list_value(std::move(none));
}

// The rows of some tensors along dim 0, one after the other. Without rows the functions still have
// to be asked what they would return: they see a row of zeros, and the results are cut to no rows.
class Rows {
 public:
  Rows(const Op& op, const Value& list) : tensors_(list_elements(list)) {
    INGOT_REQUIRE(!tensors_.empty(), "it needs at least one tensor to go along");
    for (const Value& v : tensors_) {
      const Tensor& t = v.tensor();
      INGOT_REQUIRE(t.dim() > 0, "a tensor without dims cannot be gone along");
      INGOT_REQUIRE(t.size(0) == tensors_[0].tensor().size(0), op.schema.name, ": the first dims should be equal, found ",
                    tensors_[0].tensor().size(0), " and ", t.size(0));
    }
    count_ = tensors_[0].tensor().size(0).value();
  }
  bool empty() const { return count_ == 0; }
  int64_t steps() const { return std::max<int64_t>(count_, 1); }
  Values row(int64_t i) const {
    Values out;
    for (const Value& v : tensors_) {
      const Tensor& t = v.tensor();
      Shape sizes = t.sizes();
      sizes[0] = 1;
      out.push_back(aten<"select.int">(empty() ? aten<"new_zeros">(t, sizes) : t, 0, i));
    }
    return out;
  }
  Value cut(Value results) const {
    if (!empty()) return results;
    Values out;
    for (const Value& v : list_elements(results)) out.push_back(aten<"slice.Tensor">(v.tensor(), 0, 0, 0));
    return list_value(std::move(out));
  }

 private:
  Values tensors_;
  int64_t count_ = 0;
};

Value scan(const Call& c) {
  const Callable& combine = c[0].function();
  const Values init = list_elements(c[1]), others = list_elements(c[3]);
  const Rows rows(c.op, c[2]);
  Values carry = init;
  std::vector<Values> steps;
  for (int64_t i = 0; i < rows.steps(); i++) {
    steps.push_back(combine(concatenated({carry, rows.row(i), others})));
    const Values& results = steps.back();
    INGOT_REQUIRE(results.size() >= init.size(), "the function should return the ", init.size(), " carried values first, found ",
                  results.size(), " results");
    carry.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(init.size()));
    require_alike(c.op, init, carry, "what is carried", "the function");
  }
  const Values outputs = list_elements(rows.cut(stacked(steps, init.size())));
  return list_value(concatenated({rows.empty() ? init : carry, outputs}));
}

Value associative_scan(const Call& c) {
  const Callable& combine = c[0].function();
  const Values others = list_elements(c[2]);
  const Rows rows(c.op, c[1]);
  std::vector<Values> steps = {rows.row(0)};
  for (int64_t i = 1; i < rows.steps(); i++) steps.push_back(combine(concatenated({steps.back(), rows.row(i), others})));
  return rows.cut(stacked(steps, 0));
}

// PyTorch's map refuses tensors without rows, which its scans take.
void require_rows(bool any) { INGOT_REQUIRE(any, "Leading dimensions of mapped xs cannot be 0."); }

Value map_impl(const Call& c) {
  const Callable& body = c[0].function();
  const Values others = list_elements(c[2]);
  const Rows rows(c.op, c[1]);
  require_rows(!rows.empty());
  std::vector<Values> steps;
  for (int64_t i = 0; i < rows.steps(); i++) steps.push_back(body(concatenated({rows.row(i), others})));
  return stacked(steps, 0);
}

// ---- regions

// Calls argument `function` on the arguments that follow it.
Value call_region(const Call& c, std::size_t function) {
  return list_value(c.args[function].function()(c.args.subspan(function + 1)));
}

Value wrap_with_set_grad_enabled(const Call& c) {
  ThreadState& state = thread_state();
  const Scoped<bool> mode(state.grad_mode, c[0].to_bool());
  return call_region(c, 1);
}

// The region's settings are those of one kind of device; all tensors here are on the CPU.
Value wrap_with_autocast(const Call& c) {
  if (c[0].string() != "cpu") return call_region(c, 4);
  ThreadState& state = thread_state();
  const unsigned bit = layer_bit(Layer::autocast);
  const Scoped<uint8_t> active(state.active, static_cast<uint8_t>(c[2].to_bool() ? state.active | bit : state.active & ~bit));
  const Scoped<DType> dtype(state.autocast_dtype, c[1].dtype_or(state.autocast_dtype));
  return call_region(c, 4);
}

Value run_with_operands(const Call& c) { return call_region(c, 0); }
Value run_with_list(const Call& c) { return list_value(c[0].function()(list_elements(c[1]))); }
Value run_named(const Call& c) { return list_value(c[0].function()(c.args.subspan(2))); }

// ---- as a tracer sees them

// The first row; of rows whose number only data decides, which may be none, something like it.
Tensor first_row(const Tensor& t) {
  const GuardEnv* env = current_guard_env();
  if (!env || t.dim() == 0 || t.size(0).is_number() || !env->needs_data(t.size(0).expr())) return aten<"select.int">(t, 0, 0);
  Shape sizes = t.sizes();
  sizes.erase(0);
  return aten<"new_empty">(t, sizes);
}
Value one_row(const Value& list) {
  Values rows;
  for (const Value& v : list_elements(list)) rows.push_back(first_row(v.tensor()));
  return list_value(std::move(rows));
}
Values cond_operands(const Call& c, std::size_t) { return list_elements(c[3]); }
Values loop_operands(const Call& c, std::size_t) { return concatenated({list_elements(c[2]), list_elements(c[3])}); }
Values scan_operands(const Call& c, std::size_t) {
  return concatenated({list_elements(c[1]), list_elements(one_row(c[2])), list_elements(c[3])});
}
Values map_operands(const Call& c, std::size_t) {
  for (const Value& v : list_elements(c[1])) require_rows(v.tensor().dim() == 0 || !v.tensor().size(0).same(0));
  return concatenated({list_elements(one_row(c[1])), list_elements(c[2])});
}
Values associative_operands(const Call& c, std::size_t) {
  const Values row = list_elements(one_row(c[1]));
  return concatenated({row, row, list_elements(c[2])});
}

// Fresh fakes that look like what a function returned.
Value like(const Value& v) {
  if (!v.is_tensor()) return v;
  return aten<"empty_strided">(v.tensor().sizes(), v.tensor().strides(), v.tensor().dtype(), Value(), v.tensor().device());
}
Values like_each(const Values& l) {
  Values r;
  for (const Value& v : l) r.push_back(like(v));
  return r;
}
// A row for every row of the tensors gone along.
Values stacked_like(const Values& rows, std::size_t from, const Value& along) {
  Values r;
  for (std::size_t k = from; k < rows.size(); k++) {
    const Tensor& row = rows[k].tensor();
    Shape sizes = row.sizes();
    sizes.insert(0, list_elements(along).at(0).tensor().size(0));
    r.push_back(aten<"empty.memory_format">(sizes, row.dtype(), Value(), row.device()));
  }
  return r;
}
Values cond_results(const Call& c, const std::vector<Values>& returned) {
  require_alike(c.op, returned[0], returned[1], "the true branch", "the false branch");
  return like_each(returned[0]);
}
Values loop_results(const Call& c, const std::vector<Values>& returned) {
  INGOT_REQUIRE(returned[0].size() == 1, "the condition should have one result, found ", returned[0].size());
  require_alike(c.op, list_elements(c[2]), returned[1], "what is carried", "the body");
  return like_each(returned[1]);
}
Values scan_results(const Call& c, const std::vector<Values>& returned) {
  const Values init = list_elements(c[1]);
  const Values& r = returned[0];
  INGOT_REQUIRE(r.size() >= init.size(), "the function should return the ", init.size(), " carried values first, found ",
                r.size(), " results");
  require_alike(c.op, init, Values(r.begin(), r.begin() + static_cast<std::ptrdiff_t>(init.size())), "what is carried",
                "the function");
  return concatenated({like_each(init), stacked_like(r, init.size(), c[2])});
}
Values map_results(const Call& c, const std::vector<Values>& returned) { return stacked_like(returned[0], 0, c[1]); }

const CallingConvention& cond_convention() {
  static const CallingConvention c{.control = Control::choose,
                                   .node_name = "conditional",
                                   .functions = {"true_graph", "false_graph"},
                                   .closures = {3, 3},
                                   .operands = cond_operands,
                                   .results = cond_results};
  return c;
}
const CallingConvention& while_loop_convention() {
  static const CallingConvention c{.control = Control::repeat,
                                   .functions = {"while_loop_cond_graph", "while_loop_body_graph"},
                                   .closures = {3, 3},
                                   .operands = loop_operands,
                                   .results = loop_results};
  return c;
}
const CallingConvention& scan_convention() {
  static const CallingConvention c{.control = Control::carry_rows,
                                   .functions = {"scan_combine_graph"},
                                   .closures = {3},
                                   .operands = scan_operands,
                                   .results = scan_results};
  return c;
}
const CallingConvention& map_convention() {
  static const CallingConvention c{.control = Control::each_row,
                                   .functions = {"body_graph"},
                                   .closures = {2},
                                   .operands = map_operands,
                                   .results = map_results};
  return c;
}
const CallingConvention& associative_scan_convention() {
  static const CallingConvention c{.control = Control::combine,
                                   .functions = {"associative_scan_combine_graph"},
                                   .closures = {2},
                                   .operands = associative_operands,
                                   .results = map_results};
  return c;
}
const CallingConvention& flex_convention() {
  static const CallingConvention c{.control = Control::element,
                                   .functions = {"sdpa_score", "sdpa_mask"},
                                   .closures = {7, 8},
                                   .operands = flex_operands,
                                   .results = flex_results};
  return c;
}
const CallingConvention& flex_backward_convention() {
  static const CallingConvention c{.control = Control::element,
                                   .functions = {"fw_graph", "joint_graph", "mask_graph"},
                                   .closures = {12, 12, 13},
                                   .operands = flex_backward_operands,
                                   .results = flex_backward_results};
  return c;
}

// ---- by member of a vmap
// Functions take, and return, every tensor with the batch in front.

// One truth value of each member, from a tensor of one element of each.
Tensor truth_of_members(const Tensor& t, Int size) {
  Shape member = t.sizes();
  member.erase(0);
  INGOT_REQUIRE(member.product() == 1, "a condition should have one element, found size ", member);
  return aten<"ne.Scalar">(aten<"reshape">(t, Shape{size}), 0);
}
// Of each member the value of `a` where its truth value holds, of `b` elsewhere.
Tensor by_member(const Tensor& holds, const Tensor& a, const Tensor& b) {
  return aten<"where.self">(raise_rank(holds, static_cast<int>(a.dim()) - 1), a, b);
}

// One predicate for all members: the same cond over batches. Predicates that differ: both
// functions, and each member takes its result.
Value batch_cond(const Batching& b) {
  const TensorList operands = b.fronts(3);
  if (!b.batched(0)) return call(b.op, {b[0], b[1], b[2], operands});
  const Tensor chosen = truth_of_members(b.tensor(0), b.size);
  const Values args(operands.begin(), operands.end());
  Values if_true = b[1].function()(args);
  const Values if_false = b[2].function()(args);
  require_alike(b.op, if_true, if_false, "the true branch", "the false branch");
  for (std::size_t k = 0; k < if_true.size(); k++) {
    if (if_true[k].is_tensor()) {
      const Tensor& t = if_true[k].tensor();
      if_true[k] = by_member(chosen, t, if_false[k].tensor());
    } else {
      INGOT_REQUIRE(if_true[k].same(if_false[k]), "the predicate is vmapped over and result ", k, " is ", if_true[k], " or ",
                    if_false[k], ", which is no tensor: members cannot differ in it. Return a tensor");
    }
  }
  return list_value(std::move(if_true));
}

// Repeats while any member's condition holds; which those are is carried along. A member whose
// condition does not hold any more stays as it is: the body sees what it began with in its place,
// for which the body is defined if it ever ran, so that no infinity of a value which nobody wants
// comes into the gradients.
Value batch_while_loop(const Batching& b) {
  const TensorList start = b.fronts(2), others = b.fronts(3);
  const std::size_t n = start.size(), shared = others.size();
  INGOT_REQUIRE(
      n > 0 && list_elements(b[2]).size() == n && list_elements(b[3]).size() == shared,
      "a loop that is vmapped over should carry tensors, found something else. Carry a tensor without dims in its place");
  const Value &condition = b[0], &body = b[1];
  const auto holds_for = [condition, size = b.size](Args args) {
    const Values r = condition.function()(args);
    INGOT_REQUIRE(r.size() == 1, "the condition should have one result, found ", r.size());
    INGOT_REQUIRE(r[0].is_tensor(), "the condition of a loop that is vmapped over should return a tensor, found ",
                  r[0].kind_name());
    return truth_of_members(r[0].tensor(), size);
  };
  // (holds, carried | others, what each began with)
  const Value any = make_function([](Args a) { return Values{aten<"any">(a[0].tensor())}; });
  const Value step = make_function([=](Args a) {
    const Tensor& holds = a[0].tensor();
    const Args carried = a.subspan(1, n), rest = a.subspan(1 + n, shared), began = a.subspan(1 + n + shared, n);
    Values in;
    for (std::size_t k = 0; k < n; k++) in.emplace_back(by_member(holds, carried[k].tensor(), began[k].tensor()));
    in.insert(in.end(), rest.begin(), rest.end());
    const Values next = body.function()(in);
    Values out(1);
    require_alike(op_ref<"higher_order::while_loop">(), Values(carried.begin(), carried.end()), next, "what is carried",
                  "the body");
    for (std::size_t k = 0; k < n; k++) out.emplace_back(by_member(holds, next[k].tensor(), carried[k].tensor()));
    Values tested(out.begin() + 1, out.end());
    tested.insert(tested.end(), rest.begin(), rest.end());
    out[0] = aten<"logical_and">(holds, holds_for(tested));
    return out;
  });
  Values first(start.begin(), start.end());
  first.insert(first.end(), others.begin(), others.end());
  TensorList carried{holds_for(first)}, rest = others;
  carried.insert(carried.end(), start.begin(), start.end());
  rest.insert(rest.end(), start.begin(), start.end());
  Values results = list_elements(call(b.op, {any, step, carried, rest}));
  results.erase(results.begin());
  return list_value(std::move(results));
}

constexpr OpDef kHigherOrderOps[] = {
    {.schema = "higher_order::auto_functionalized(str operator, str[] keywords, ...) -> Any[]",
     .form = Form::higher_order,
     .body = auto_functionalized},
    {.schema = "higher_order::auto_functionalized_v2(str operator, str[] keywords, ...) -> Any[]",
     .form = Form::higher_order,
     .body = auto_functionalized_v2,
     .vjp = auto_functionalized_v2_vjp},
    {.schema = "higher_order::with_effects(Any token, str operator, ...) -> Any[]",
     .form = Form::higher_order,
     .body = with_effects},
    {.schema = "higher_order::run_and_save_rng_state(str operator, ...) -> Any[]",
     .form = Form::higher_order,
     .body = run_and_save_rng_state},
    {.schema = "higher_order::run_with_rng_state(Tensor state, str operator, ...) -> Any",
     .form = Form::higher_order,
     .body = run_with_rng_state},
    {.schema = "higher_order::out_dtype(str operator, ScalarType dtype, ...) -> Any[]",
     .form = Form::higher_order,
     .body = out_dtype},
    // What it would print has no place in a library's output.
    {.schema = "higher_order::print(str format, ...) -> ()",
     .form = Form::higher_order,
     .body = [](const Call&) -> Value { return Values(); }},
    {.schema = "higher_order::cond(Any pred, Function true_graph, Function false_graph, Any operands) -> Any[]",
     .form = Form::higher_order,
     .body = cond,
     .vjp = cond_vjp,
     .saves = {{0}, {3}},
     .batch = batch_cond,
     .convention = cond_convention},
    {.schema = "higher_order::while_loop(Function cond_graph, Function body_graph, Any carried, Any additional) -> Any[]",
     .form = Form::higher_order,
     .body = while_loop,
     .vjp = while_loop_vjp,
     .saves = {{2}, {3}},
     .batch = batch_while_loop,
     .convention = while_loop_convention},
    {.schema =
         "higher_order::while_loop_stack_output(Function cond_graph, Function body_graph, Any carried, Any additional) -> Any[]",
     .form = Form::higher_order,
     .body = while_loop_stack_output},
    {.schema = "higher_order::scan(Function combine_graph, Any init, Any xs, Any additional) -> Any[]",
     .form = Form::higher_order,
     .body = scan,
     .vjp = scan_vjp,
     .saves = {{1}, {2}, {3}},
     .convention = scan_convention},
    {.schema = "higher_order::associative_scan(Function combine_graph, Any xs, Any additional) -> Any[]",
     .form = Form::higher_order,
     .body = associative_scan,
     .convention = associative_scan_convention},
    {.schema = "higher_order::map_impl(Function body_graph, Any mapped, Any others) -> Any[]",
     .form = Form::higher_order,
     .body = map_impl,
     .vjp = map_vjp,
     .saves = {{1}, {2}},
     .convention = map_convention},
    {.schema =
         "higher_order::flex_attention(Tensor query, Tensor key, Tensor value, Function score_mod, Any block_mask, float scale, "
         "Any kernel_options, Any score_mod_other_buffers, Any mask_mod_other_buffers) -> Any[]",
     .form = Form::higher_order,
     .body = flex_attention,
     .vjp = flex_attention_vjp,
     .saves = {{0}, {1}, {2}, {7}, {8}},
     .convention = flex_convention},
    {.schema =
         "higher_order::flex_attention_backward(Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor? "
         "grad_out, Tensor? grad_logsumexp, Function fw_graph, Function joint_graph, Any block_mask, float scale, Any "
         "kernel_options, Any score_mod_other_buffers, Any mask_mod_other_buffers) -> Any[]",
     .form = Form::higher_order,
     .body = flex_attention_backward,
     .convention = flex_backward_convention},
    {.schema = "higher_order::wrap_with_set_grad_enabled(bool enabled, Function region, ...) -> Any[]",
     .form = Form::higher_order,
     .body = wrap_with_set_grad_enabled},
    {.schema = "higher_order::wrap_with_autocast(str device_type, ScalarType? dtype, bool enabled, bool? cache_enabled, "
               "Function region, ...) -> Any[]",
     .form = Form::higher_order,
     .body = wrap_with_autocast},
    {.schema = "higher_order::hints_wrapper(Function region, Any operands, Any kwargs=None, Any hints=None) -> Any[]",
     .form = Form::higher_order,
     .body = run_with_list},
    {.schema = "higher_order::strict_mode(Function region, Any operands) -> Any[]",
     .form = Form::higher_order,
     .body = run_with_list},
    {.schema = "higher_order::run_const_graph(Function region, Any operands) -> Any[]",
     .form = Form::higher_order,
     .body = run_with_list},
    {.schema = "higher_order::invoke_subgraph(Function region, str? identifier, ...) -> Any[]",
     .form = Form::higher_order,
     .body = run_named},
    {.schema = "higher_order::tag_activation_checkpoint(Function region, ...) -> Any[]",
     .form = Form::higher_order,
     .body = run_with_operands},
    {.schema = "higher_order::wrap(Function region, ...) -> Any[]", .form = Form::higher_order, .body = run_with_operands},
    {.schema = "higher_order::wrap_activation_checkpoint(Function region, ...) -> Any[]",
     .form = Form::higher_order,
     .body = run_with_operands},
};

}  // namespace

INGOT_FAMILY(higher_order, kHigherOrderOps)

bool calls_beside_stream(const Op& op) { return op.def->body == run_and_save_rng_state || op.def->body == run_with_rng_state; }

}  // namespace ingot
