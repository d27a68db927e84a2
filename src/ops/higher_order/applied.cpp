#include "ops/higher_order/applied.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "op/applied.hpp"
#include "op/call.hpp"
#include "op/tensors.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

Values results_of(const Op& applied, const Value& r) {
  if (applied.schema.results.empty()) return {};
  const bool is_list = applied.schema.results.size() > 1;  // one result that is a list stays one
  return is_list ? list_elements(r) : Values{r};
}

// What an op that writes returned, or None where it returned nothing, then what it wrote.
Value with_written(const Op& applied, const Value& returned, const Values& written) {
  Values results = results_of(applied, returned);
  if (results.empty()) results.emplace_back();
  results.insert(results.end(), written.begin(), written.end());
  return list_value(std::move(results));
}

// The named values of a call: (operator, keywords, values…).
class Keywords {
 public:
  Keywords(const Op& applied, const Call& c) : applied_(applied), names_(list_elements(c[1])), values_(c.args.subspan(2)) {
    INGOT_REQUIRE(names_.size() == values_.size(), c.op.schema.name, " of ", applied.qualified(), " has ", names_.size(),
                  " keywords and ", values_.size(), " values");
  }
  const Value* find(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); i++)
      if (names_[i].string() == name) return &values_[i];
    return nullptr;
  }
  const Value& at(std::string_view name) const {
    const Value* v = find(name);
    INGOT_REQUIRE(v, "argument ", name, " of a functional call of ", applied_.qualified(), " is missing");
    return *v;
  }
  // An argument of the applied op: as given, or its default.
  Value argument(const SchemaArg& a) const {
    const Value* v = find(a.name);
    return v || !a.has_default ? at(a.name) : a.default_value;
  }

 private:
  const Op& applied_;
  Values names_;
  Args values_;
};

Value copied(const Value& v) {
  return map_tensors(v, [](const Tensor& t) { return aten<"clone">(t); });
}

// A copy that lies in a storage of its own as the tensor lies in its, where views say their places
// there.
Tensor copied_in_place(const Tensor& t, bool by_place) {
  if (!by_place || (t.storage_offset().same(0) && is_non_overlapping_and_dense(t.sizes(), t.strides()))) return aten<"clone">(t);
  const Int elements = floor_div(required_bytes(t->geom), t.itemsize());
  return aten<"as_strided">(aten<"clone">(aten<"as_strided">(t, Shape{elements}, Shape{1}, 0)), t.sizes(), t.strides(),
                            t.storage_offset());
}

// The view of one of the copies that the keywords with this prefix describe.
Value view_of(const Keywords& k, const std::string& prefix, const Values& copies) {
  const Value& index = k.at(prefix + "_base_index");
  if (index.is_none()) return {};
  const int64_t i = index.to_int64();
  INGOT_REQUIRE(i >= 0 && i < static_cast<int64_t>(copies.size()), prefix, "_base_index is ", i, ", and ", kAllBases, " has ",
                copies.size(), " tensors");
  const Tensor& base = copies[static_cast<std::size_t>(i)].tensor();
  if (k.find(prefix + "_alias")) return aten<"alias">(base);
  if (k.find(prefix + "_slice_dim"))
    return aten<"slice.Tensor">(base, k.at(prefix + "_slice_dim"), k.at(prefix + "_slice_start"), k.at(prefix + "_slice_end"));
  if (k.find(prefix + "_size")) {
    const Value &sizes = k.at(prefix + "_size"), &strides = k.at(prefix + "_stride");
    return aten<"as_strided">(base, sizes, strides, k.at(prefix + "_storage_offset"));
  }
  return base;
}

Value written_argument(const Keywords& k, const SchemaArg& a, const Values& copies) {
  const std::string prefix = "_" + a.name;
  // A list that is None has no length, and an index that is None.
  if (!a.type.is_list() || !k.find(prefix + "_length")) return view_of(k, prefix, copies);
  TensorList l;
  const int64_t length = k.at(prefix + "_length").to_int64();
  for (int64_t i = 0; i < length; i++) l.push_back(view_of(k, text(prefix, "_", i), copies).tensor_or_none());
  return l;
}

}  // namespace

// The results, or None where there are none, then what the op wrote: it writes to copies.
Value auto_functionalized(const Call& c) {
  const Op& applied = op(c[0].string());
  const Keywords k(applied, c);
  Values args, written;
  for (const SchemaArg& a : applied.schema.args) args.push_back(k.argument(a));
  for (const int8_t w : applied.written) {
    Value& v = args[static_cast<std::size_t>(w)];
    v = copied(v);
    written.push_back(v);
  }
  return with_written(applied, call(applied, args), written);
}

// The same, but what the op writes are views of some tensors, which may overlap: those are copied,
// and their copies returned.
Value auto_functionalized_v2(const Call& c) {
  const Op& applied = op(c[0].string());
  const Keywords k(applied, c);
  Values copies, args;
  const std::vector<ViewByPlace> by_place = views_by_place(applied, c);
  for (const Value& base : list_elements(k.at(kAllBases)))
    copies.emplace_back(copied_in_place(
        base.tensor(), std::ranges::any_of(by_place, [&](const ViewByPlace& v) { return v.base.is_same(base.tensor()); })));
  for (const SchemaArg& a : applied.schema.args) args.push_back(a.type.writes() ? written_argument(k, a, copies) : k.argument(a));
  return with_written(applied, call(applied, args), copies);
}

void auto_functionalized_v2_vjp(Vjp& v) {
  const Op& applied = op(v.arg(0).string());
  const std::size_t results = std::max<std::size_t>(applied.schema.results.size(), 1);
  for (std::size_t r = 0; r < results; r++)
    if (v.grad(static_cast<int>(r)).defined()) refuse_gradient(applied);
  const Values names = list_elements(v.arg(1));
  for (std::size_t i = 0; i < names.size(); i++) {
    if (names[i].string() != kAllBases) continue;
    const int bases = static_cast<int>(i) + 2;
    for (int b = 0; b < v.list_size(bases); b++)
      if (v.need(bases, b)) v.set(bases, b, v.grad(static_cast<int>(results) + b));
  }
}

// A graph runs in order, so the token has nothing to do but go on.
Value with_effects(const Call& c) {
  const Op& applied = op(c[1].string());
  Values all{c[0]};
  for (Value& v : results_of(applied, call(applied, c.args.subspan(2)))) all.push_back(std::move(v));
  return all;
}

// What the random stream was before the call, then what the call returns.
static Tensor stream_state() { return call(op_ref<"prims::_rng_state">(), {}).tensor(); }
Value run_and_save_rng_state(const Call& c) {
  const Tensor state = stream_state();
  return Values{state, call(op(c[0].string()), c.args.subspan(1))};
}

// The numbers that the call had when the stream was so. The stream goes on as if nobody had asked.
Value run_with_rng_state(const Call& c) {
  const Tensor now = stream_state();
  aten_value<"prims::_set_rng_state">(c[0]);
  try {
    Value result = call(op(c[1].string()), c.args.subspan(2));
    aten_value<"prims::_set_rng_state">(now);
    return result;
  } catch (...) {
    aten_value<"prims::_set_rng_state">(now);
    throw;
  }
}

Value out_dtype(const Call& c) {
  const Op& applied = op(c[0].string());
  const DType wanted = c[1].dtype();
  Values args(c.args.begin() + 2, c.args.end());
  for (Value& v : args)
    if (v.is_tensor()) v = v.tensor().to(wanted);
  return Values{call(applied, args).tensor().to(wanted)};
}

}  // namespace ingot
