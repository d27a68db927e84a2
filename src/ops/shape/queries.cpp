// Questions about tensors whose answer is no tensor, and assertions. Questions about geometry are
// composites: the answer is an Int, which stays symbolic where sizes are open.
#include <cstdio>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/assume.hpp"
#include "expr/guards.hpp"
#include "ingot/ingot.hpp"
#include "ingot/op/lowering.hpp"
#include "op/call.hpp"
#include "op/promotion.hpp"
#include "ops/batch/rules.hpp"
#include "ops/family.hpp"
#include "ops/shape/metadata_assertion.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

using Body = Value (*)(const Call&);
constexpr OpDef query(std::string_view schema, Body body) { return {.schema = schema, .form = Form::composite, .body = body}; }
// A node of its own: it reads data or has an effect, so it must stay in a listing.
constexpr OpDef effect(std::string_view schema, Body body) { return {.schema = schema, .form = Form::external, .body = body}; }
constexpr OpDef with_lower(OpDef d, void (*lower)(Lowering&)) {
  d.lower = lower;
  return d;
}

Value size_of_dim(const Call& c) { return c.tensor(0).size(c[1].to_int64()); }
Value stride_of_dim(const Call& c) { return c.tensor(0).stride(c[1].to_int64()); }
Value all_sizes(const Call& c) { return c.tensor(0).sizes(); }
Value all_strides(const Call& c) { return c.tensor(0).strides(); }
Value number_of_elements(const Call& c) { return c.tensor(0).numel(); }
Value offset(const Call& c) { return c.tensor(0).storage_offset(); }
Value contiguous_in_format(const Call& c) {
  return c.tensor(0).is_contiguous(c[1].is_memory_format() ? c[1].memory_format() : MemoryFormat::contiguous);
}
Value never(const Call&) { return false; }
Value promoted(const Call& c) { return result_type(c.args); }

// Only real bytes can be read. A number of a fake becomes a symbol, as a size that data decides
// does; a bool one that is 0 or 1.
Value read_element(const Call& c) {
  const Tensor& t = c.tensor(0);
  INGOT_REQUIRE(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  if (!t->is_fake()) return Value(t.item());
  GuardEnv* env = current_guard_env();
  INGOT_REQUIRE(env && !is_complex(t.dtype()),
                "item(): this tensor has no data (it is traced or fake), so its value cannot be read; keep the "
                "computation in tensors");
  if (is_floating(t.dtype())) return env->fresh_float();
  return fresh_element(t.dtype());
}

// The text of a program's own assertion is all it says.
[[noreturn]] void fail_assertion(const std::string& message) {
  UserError e(message);
  e.names_op = true;
  throw e;
}
// What the program asserts of open sizes is known from there on; of what data decides, the
// assertion stays in the graph.
void check_scalar(const Value& condition, const std::string& message) {
  const bool ok = condition.is_int()     ? assume_nonzero(condition.to_int(), message)
                  : condition.is_float() ? assume_nonzero(condition.to_float(), message)
                                         : condition.to_scalar().to_bool();
  // A program that is traced with open sizes keeps what cannot hold: its runs say so (P121).
  if (!ok && current_guard_env() == nullptr) fail_assertion(message);
}

void check_assertion(const Tensor& t, const std::string& message) {
  INGOT_REQUIRE(t.numel() == 1, "Boolean value of Tensor with ", t.numel(),
                t.numel() == 0 ? " values is ambiguous" : " values is ambiguous: it must be one");
  if (!t->is_fake() && !t.item().to_bool()) fail_assertion(message);
}
constexpr const char* kAssertion = "Expected Tensor with single nonzero value, but got zero";

std::string range_error(Int v, const Value& min, const Value& max) {
  return text("Invalid value range for ", v, " between [", min.is_none() ? Value("-inf") : min, ", ",
              max.is_none() ? Value("inf") : max, "].");
}
void check_range(const Value& size, const Value& min, const Value& max) {
  INGOT_REQUIRE(size.is_int() || size.is_bool(), "sym_constrain_range: expected an integer, found ", size.kind_name());
  const Int v = size.to_int();
  const std::string says = range_error(v, min, max);
  INGOT_REQUIRE(
      (min.is_none() || assume_at_least(v, min.to_int(), says)) && (max.is_none() || assume_at_least(max.to_int(), v, says)),
      says);
}
Value constrain(const Call& c) {
  check_range(c[0], c[1], c[2]);
  return {};
}
Value constrain_with_token(const Call& c) {
  check_range(c[0], c[1], c[2]);
  return aten<"clone">(c[3]);
}
// A size is never negative.
void check_size_range(const Value& size, const Value& min, const Value& max) {
  check_range(size, ingot::max(min.int_or(0), Int(0)), max);
  if (size.is_int() && size.to_int().is_symbolic()) use_as_size(size.to_int());
}
Value constrain_size(const Call& c) {
  check_size_range(c[0], c[1], c[2]);
  return {};
}
Value constrain_size_with_token(const Call& c) {
  check_size_range(c[0], c[1], c[2]);
  return aten<"clone">(c[3]);
}

// ---- compiled: the run stops where the data says otherwise

void stop_unless(Lowering& l, const Expr& condition, const std::string& message) {
  if (!condition.is_const() || condition->i == 0) l.check(condition, message);
}
// Those that order effects by a token hand it on.
void hand_on_token(Lowering& l, int token) {
  if (token >= 0) l.define(0, {}, l.load(token, {}));
}
template <int token = -1>
void lower_assertion(Lowering& l) {
  const std::vector<Expr> first(static_cast<std::size_t>(l.call.tensor(0).dim()), Expr(0));
  const Expr value = l.load(0, first);
  stop_unless(l, l.load_temporary(l.temporary({}, ne(value, cast(value.dtype(), Expr(0)))), {}),
              l.call.args.size() > 1 ? l.call[1].string() : kAssertion);
  hand_on_token(l, token);
}
template <int token = -1>
void lower_scalar_assertion(Lowering& l) {
  const Value& v = l.call[0];
  stop_unless(l,
              v.is_int()     ? ne(v.to_int().expr(), Expr(0))
              : v.is_float() ? ne(v.to_float().expr(), Expr(0.0))
                             : Expr::boolean(v.to_scalar().to_bool()),
              l.call[1].string());
  hand_on_token(l, token);
}
template <bool of_size, int token = -1>
void lower_range(Lowering& l) {
  const Expr v = l.call[0].to_int().expr();
  const Value &least = l.call[1], &most = l.call[2];
  Expr fits = true;
  if (of_size) fits = v >= max(least.int_or(0).expr(), Expr(0));
  else if (!least.is_none()) fits = v >= least.to_int().expr();
  if (!most.is_none()) fits = fits && v <= most.to_int().expr();
  stop_unless(l, fits, range_error(Int(v), least, most));
  hand_on_token(l, token);
}

std::string mismatch(std::string_view what, const auto& expected, const auto& found) {
  return text("Tensor ", what, " mismatch!\nExpected: ", expected, "\nGot: ", found);
}
// The dtype is the program's: it is checked wherever the op is seen. Sizes and strides are those of
// a run: a trace leaves them to one, and a compiled program is told of them as of any condition
// over sizes, so that nothing is computed for it.
Value check_metadata(const Call& c) {
  const Tensor& t = c.tensor(0);
  if (c[3].is_dtype() && t.dtype() != c[3].dtype())  // of the op, wherever it is seen: who runs a program adds where it stands
    fail_assertion(text(c.op.schema.name, ": ", mismatch("dtype", c[3].dtype(), t.dtype())));
  const auto require_equal = [](std::string_view what, const Value& expected, const Shape& found) {
    if (!expected.is_ints()) return;
    const Int same = truth_of_equal(expected.ints(), found);
    if (same.same(1)) return;
    const std::string says = mismatch(what, expected.ints(), found);
    if (current_guard_env() == nullptr) throw_user_error(says);
    if (same.is_number()) aten_value<"_assert_scalar">(false, says);
    else aten_value<"_assert_scalar">(same, says);
  };
  require_equal("sizes", c[1], t.sizes());
  require_equal("strides", c[2], t.strides());
  return {};  // device and layout are where the exporter ran, not where the program does
}

bool same_geometry(const Tensor& a, const Tensor& b) { return a->storage == b->storage && a->geom.same(b->geom); }

Value refuse_item(const Batching&) {
  throw_user_error(
      "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite what "
      "you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report.");
}

constexpr OpDef kQueryOps[] = {
    query("aten::sym_size.int(Tensor self, int dim) -> SymInt", size_of_dim),
    query("aten::sym_size(Tensor self) -> SymInt[]", all_sizes),
    query("aten::size.int(Tensor self, int dim) -> int", size_of_dim),
    query("aten::size(Tensor self) -> int[]", all_sizes),
    query("aten::sym_stride.int(Tensor self, int dim) -> SymInt", stride_of_dim),
    query("aten::sym_stride(Tensor self) -> SymInt[]", all_strides),
    query("aten::stride.int(Tensor self, int dim) -> int", stride_of_dim),
    query("aten::stride(Tensor self) -> int[]", all_strides),
    query("aten::sym_numel(Tensor self) -> SymInt", number_of_elements),
    query("aten::numel(Tensor self) -> int", number_of_elements),
    query("aten::sym_storage_offset(Tensor self) -> SymInt", offset),
    query("aten::storage_offset(Tensor self) -> int", offset),
    query("aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool", contiguous_in_format),
    query("aten::is_contiguous(Tensor self) -> bool", [](const Call& c) -> Value { return c.tensor(0).is_contiguous(); }),
    query("aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool", contiguous_in_format),
    query("aten::dim(Tensor self) -> int", [](const Call& c) -> Value { return c.tensor(0).dim(); }),
    query("aten::dense_dim(Tensor self) -> int", [](const Call& c) -> Value { return c.tensor(0).dim(); }),
    query("aten::sparse_dim(Tensor self) -> int", [](const Call&) -> Value { return 0; }),
    query("aten::len.Tensor(Tensor t) -> int",
          [](const Call& c) -> Value {
            INGOT_REQUIRE(c.tensor(0).dim() > 0, "len() of a 0-d tensor");
            return c.tensor(0).size(0);
          }),
    query("aten::element_size(Tensor self) -> int", [](const Call& c) -> Value { return c.tensor(0).itemsize(); }),
    query("aten::is_same_size(Tensor self, Tensor other) -> bool",
          [](const Call& c) -> Value { return c.tensor(0).sizes() == c.tensor(1).sizes(); }),
    query("aten::is_set_to(Tensor self, Tensor tensor) -> bool",
          [](const Call& c) -> Value { return same_geometry(c.tensor(0), c.tensor(1)); }),
    query("aten::_has_same_storage_numel(Tensor self, Tensor other) -> bool",
          [](const Call& c) -> Value {
            auto elements = [&](int i) { return floor_div(c.tensor(i)->storage->nbytes(), c.tensor(i).itemsize()); };
            return elements(0) == elements(1);
          }),
    // 0: no two elements share an address, 1: they do, 2: it would take long to say
    query("aten::_debug_has_internal_overlap(Tensor self) -> int",
          [](const Call& c) -> Value {
            const Tensor& t = c.tensor(0);
            if (is_non_overlapping_and_dense(t.sizes(), t.strides())) return 0;
            for (int i = 0; i < t.dim(); i++)
              if (t.strides()[i] == 0 && t.sizes()[i] > 1) return 1;
            return 2;
          }),
    query("aten::is_floating_point(Tensor self) -> bool", [](const Call& c) -> Value { return c.tensor(0).is_floating_point(); }),
    query("aten::is_complex(Tensor self) -> bool", [](const Call& c) -> Value { return c.tensor(0).is_complex(); }),
    query(
        "aten::is_signed(Tensor self) -> bool",
        [](const Call& c) -> Value { return is_differentiable(c.tensor(0).dtype()) || is_signed_integral(c.tensor(0).dtype()); }),
    query("aten::is_inference(Tensor self) -> bool", [](const Call& c) -> Value { return c.tensor(0)->inference; }),
    query("aten::is_leaf(Tensor self) -> bool", [](const Call& c) -> Value { return c.tensor(0).is_leaf(); }),
    query("aten::_version(Tensor self) -> int", [](const Call& c) -> Value { return c.tensor(0).version(); }),
    query("aten::is_neg(Tensor self) -> bool", never),
    query("aten::is_pinned(Tensor self, Device? device=None) -> bool", never),
    query("aten::is_distributed(Tensor self) -> bool", never),
    query("aten::_is_zerotensor(Tensor self) -> bool", never),
    query("aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType", promoted),
    query("aten::result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType", promoted),
    query("aten::result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType", promoted),
    query("aten::result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType", promoted),
    query("aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
          [](const Call& c) -> Value { return promote(c[0].dtype(), c[1].dtype()); }),
    query("aten::can_cast(ScalarType from_, ScalarType to) -> bool",
          [](const Call& c) -> Value { return can_cast(c[0].dtype(), c[1].dtype()); }),

    with_batch(effect("aten::_local_scalar_dense(Tensor self) -> Scalar", read_element), refuse_item),
    query("aten::item(Tensor self) -> Scalar",
          [](const Call& c) -> Value {
            INGOT_REQUIRE(c.tensor(0).numel() == 1, "a Tensor with ", c.tensor(0).numel(),
                          " elements cannot be converted to Scalar");
            return aten_value<"_local_scalar_dense">(c[0]);
          }),
    query("aten::is_nonzero(Tensor self) -> bool",
          [](const Call& c) -> Value {
            const Int n = c.tensor(0).numel();
            INGOT_REQUIRE(!(n == 0), "Boolean value of Tensor with no values is ambiguous");
            INGOT_REQUIRE(n == 1, "Boolean value of Tensor with more than one value is ambiguous");
            return aten_value<"item">(c[0]).to_scalar().to_bool();
          }),

    with_lower(with_batch(effect("aten::_assert_async(Tensor self) -> ()",
                                 [](const Call& c) -> Value {
                                   check_assertion(c.tensor(0), kAssertion);
                                   return {};
                                 }),
                          batch_loop),
               lower_assertion),
    with_lower(with_batch(effect("aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
                                 [](const Call& c) -> Value {
                                   check_assertion(c.tensor(0), c[1].string());
                                   return {};
                                 }),
                          batch_loop),
               lower_assertion),
    with_lower(effect("aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
                      [](const Call& c) -> Value {
                        check_scalar(c[0], c[1].string());
                        return {};
                      }),
               lower_scalar_assertion),
    {.schema = "prims::_make_token() -> Tensor",
     .body = [](const Call&) -> Value { return aten<"empty.memory_format">(Shape{0}); }},
    effect("prims::_sink_tokens(Tensor[] tokens) -> ()", [](const Call&) -> Value { return {}; }),
    {.schema = "aten::_print(str s) -> ()",
     .body = [](const Call& c) -> Value {
       std::fprintf(stderr, "%s\n", c[0].string().c_str());
       return {};
     },
     .effects = {.ordered = true}},
    effect(
        "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, "
        "Layout? layout=None) -> ()",
        check_metadata),
    with_lower(effect("aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", constrain),
               lower_range<false>),
    with_lower(effect("aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", constrain_size),
               lower_range<true>),
    // The functional twins order effects by a token they hand on.
    {.schema =
         "aten::_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
         "memory_format=None) -> Tensor",
     .form = Form::factory,
     .meta = [](const Call& c, Outputs& o) { o.add(Shape{}, c[0].dtype_or(thread_state().default_dtype)); },
     .kernel = [](const Call&, std::span<const Tensor>) {},
     .grad = {.none = true},
     .result = {.uninitialised = true}},
    with_lower(with_batch(effect("aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
                                 [](const Call& c) -> Value {
                                   check_assertion(c.tensor(0), c[1].string());
                                   return aten<"clone">(c[2]);
                                 }),
                          batch_loop),
               lower_assertion<2>),
    with_lower(effect("aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor",
                      [](const Call& c) -> Value {
                        check_scalar(c[0], c[1].string());
                        return aten<"clone">(c[2]);
                      }),
               lower_scalar_assertion<2>),
    with_lower(effect("aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
                      constrain_with_token),
               lower_range<false, 3>),
    with_lower(
        effect("aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
               constrain_size_with_token),
        lower_range<true, 3>),
};

}  // namespace

bool asserts_metadata(const Op& op) { return op.def->body == check_metadata; }

INGOT_FAMILY(query, kQueryOps)

}  // namespace ingot
