#include "ops/batch/rules.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "op/formula.hpp"
#include "op/operands.hpp"
#include "tensor/geometry.hpp"

namespace ingot {
namespace {

bool names_dims(const SchemaArg& a) {
  return (a.type.kind == Kind::integer || a.type.kind == Kind::sym_int) && a.name.starts_with("dim");
}

Value shifted(const Value& v, int rank) {
  if (v.is_int()) return wrap_dim(v.to_int64(), rank) + 1;
  if (!v.is_ints()) return v;
  Shape dims;
  for (const Int d : v.ints()) dims.push_back(wrap_dim(d.value(), rank) + 1);
  return dims;
}

// The rank of the tensor that the op's dims are counted in: its first one.
int first_rank(const Batching& b) {
  for (std::size_t i = 0; i < b.args.size(); i++)
    if (b.args[i].is_tensor()) return b.rank(static_cast<int>(i));
  return 0;
}

// A 0-dim member may be asked for dim 0 or -1: it is given one dim of size 1, and the results get
// their own sizes back.
Value call_raised(const Batching& b, Values args, int rank) {
  for (Value& v : args)
    if (v.is_tensor() && v.tensor().dim() == 1) v = aten<"unsqueeze">(v.tensor(), 1);
  const Value r = call(b.op, with_dims_shifted(b.op, std::move(args), rank));
  const std::vector<Geometry> members = b.member_results();
  if (r.is_tensor()) return aten<"reshape">(r.tensor(), b.with_batch(members.at(0).sizes));
  TensorList l = r.tensors();
  for (std::size_t k = 0; k < l.size(); k++)
    if (l[k].defined()) l[k] = aten<"reshape">(l[k], b.with_batch(members.at(k).sizes));
  return l;
}

Value call_with_dims(const Batching& b, Values args, int rank) {
  return rank > 0 ? call(b.op, with_dims_shifted(b.op, std::move(args), rank)) : call_raised(b, std::move(args), rank);
}

// Type promotion tells 0-dim tensors from others, and a 0-dim member has a batch dim here: it is
// given the type that it would be computed in.
void promote_members(const Batching& b, Values& args) {
  const Op& f = b.op.functional ? *b.op.functional : b.op;
  if (!f.def->formula) return;
  bool zero_dim = false;
  Values members = b.args;
  for (std::size_t i = 0; i < members.size(); i++) {
    if (!members[i].is_tensor() || b.rank(static_cast<int>(i)) > 0) continue;
    zero_dim = true;
    if (b.batched(static_cast<int>(i)))
      members[i] = make_tensor(Geometry::contiguous({}, members[i].tensor().dtype()), members[i].tensor().device(), true);
  }
  if (!zero_dim) return;
  const Call c{f, members};
  const Formula& formula = *f.def->formula(c);
  const auto operands = formula_operands(c, formula);
  const DType common = common_dtype(formula, operands);
  for (std::size_t k = 0; k < operands.size(); k++) {
    const auto i = static_cast<std::size_t>(operands[k] - members.data());
    const bool takes_part = ((formula.promoting & ~formula.bool_operands) >> k) & 1, written = b.op.functional && i == 0;
    if (!takes_part || written || !members[i].is_tensor() || members[i].tensor().dim() > 0 ||
        members[i].tensor().dtype() == common)
      continue;
    args[i] = aten<"_to_copy">(args[i].tensor(), common);
  }
}

// The place of a channels-last memory format among the arguments, or -1: such a format counts the
// member's dims, not the batch's.
int channels_last_argument(const Batching& b) {
  for (std::size_t i = 0; i < b.args.size(); i++)
    if (b.args[i].is_memory_format() &&
        (b.args[i].memory_format() == MemoryFormat::channels_last || b.args[i].memory_format() == MemoryFormat::channels_last_3d))
      return static_cast<int>(i);
  return -1;
}
Value call_in_channels_last(const Batching& b, int format) {
  const int rank = b.rank(0);
  INGOT_REQUIRE(rank == (b[format].memory_format() == MemoryFormat::channels_last ? 4 : 5), b.op.schema.name, ": required rank ",
                b[format].memory_format() == MemoryFormat::channels_last ? 4 : 5,
                " tensor to use this memory format, found rank ", rank);
  Values args = b.args;
  args[0] = move_dim(b.tensor(0), 2, rank);
  args[static_cast<std::size_t>(format)] = MemoryFormat::contiguous;
  return move_dim(call(b.op, args).tensor(), rank, 2);
}

// A factory that is given a tensor: …_like makes a tensor for every member, new_… too (its sizes
// get the batch in front).
Value batch_factory(const Batching& b) {
  if (const int format = channels_last_argument(b); format >= 0) return call_in_channels_last(b, format);
  if (!b[0].is_tensor()) return batch_loop(b);
  Values args = b.args;
  const int size = b.op.schema.index_of("size");
  if (size > 0) args[static_cast<std::size_t>(size)] = b.with_batch(b[size].ints());
  return call(b.op, args);
}

}  // namespace

Values arguments_in_front(const Batching& b) {
  Values args = b.args;
  for (std::size_t i = 0; i < args.size(); i++) {
    if (args[i].is_tensor()) args[i] = b.front(static_cast<int>(i));
    else if (args[i].is_tensors()) args[i] = b.fronts(static_cast<int>(i));
  }
  return args;
}

Values with_dims_shifted(const Op& op, Values args, int rank) {
  for (std::size_t i = 0; i < args.size(); i++)
    if (names_dims(op.schema.args[i])) args[i] = shifted(args[i], rank);
  return args;
}

Value batch_pointwise(const Batching& b) {
  if (const int format = channels_last_argument(b); format >= 0) return call_in_channels_last(b, format);
  Values args = b.args;
  int rank = 0;
  for (std::size_t i = 0; i < args.size(); i++)
    if (args[i].is_tensor()) rank = std::max(rank, b.rank(static_cast<int>(i)));
  promote_members(b, args);
  // Without a formula it is the first operand that says what the result looks like (copy).
  const bool of_first = !b.op.def->formula && b.op.variant == Variant::functional && args[0].is_tensor() && !b.batched(0);
  if (of_first) args[0] = b.front(0);
  for (std::size_t i = 0; i < args.size(); i++)
    if (args[i].is_tensor() && b.batched(static_cast<int>(i))) args[i] = raise_rank(args[i].tensor(), rank);
  return call(b.op, args);
}

Value batch_dims(const Batching& b) { return call_with_dims(b, arguments_in_front(b), first_rank(b)); }

Value batch_elements(const Batching& b) {
  Values args = arguments_in_front(b);
  const bool zero_dim =
      std::any_of(args.begin(), args.end(), [](const Value& v) { return v.is_tensor() && v.tensor().dim() == 1; });
  return zero_dim ? call_raised(b, std::move(args), first_rank(b)) : call_with_dims(b, std::move(args), first_rank(b));
}

Value batch_reduction(const Batching& b) {
  const int dim = b.op.schema.index_of("dim"), keepdim = b.op.schema.index_of("keepdim");
  if (dim < 0) return batch_loop(b);
  const Value& d = b[dim];
  const int rank = b.rank(0);
  Values args = arguments_in_front(b);
  Value& dims = args[static_cast<std::size_t>(dim)];
  if (d.is_none() &&
      !b.op.schema.args[static_cast<std::size_t>(dim)].type.is_list()) {  // one dim at most: all of them become one
    const Tensor flat = aten<"reshape">(b.tensor(0), Shape{b.size, b.sizes(0).product()});
    args[0] = flat;
    dims = 1;
    const Value r = call(b.op, args);
    if (keepdim < 0 || !b[keepdim].to_bool()) return r;
    const Shape kept = b.with_batch(Shape::filled(static_cast<std::size_t>(rank), 1));
    if (r.is_tensor()) return aten<"reshape">(r.tensor(), kept);
    TensorList l;
    for (const Tensor& t : r.tensors()) l.push_back(aten<"reshape">(t, kept));
    return l;
  }
  // No dims are all dims, but for the ops that then reduce nothing.
  bool all = d.is_none();
  if (d.is_ints() && d.ints().empty()) all = rank == 0 || !b.member_results().at(0).sizes.same(b.sizes(0));
  if (all) {
    Shape every;
    for (int i = 0; i < rank; i++) every.push_back(i);
    if (rank == 0) every.push_back(0);
    dims = every;
  }
  return call_with_dims(b, std::move(args), rank);
}

Value batch_into_sizes(const Batching& b) {
  const int sizes = b.op.schema.index_of("input_sizes");
  Values args = arguments_in_front(b);
  args[static_cast<std::size_t>(sizes)] = b.with_batch(b[sizes].ints());
  const int rank = b[sizes].ints().dim();
  return rank == 0 ? batch_loop(b) : call(b.op, with_dims_shifted(b.op, std::move(args), rank));
}

namespace {

// A result that was not asked for (the vectors of an SVD that wants values alone) is an empty list,
// with no batch dim.
Value with_empty_results(const Batching& b, const Value& r) {
  if (!r.is_tensors() || b.size == 0) return r;
  TensorList l = r.tensors();
  for (Tensor& t : l)
    if (t.defined() && t.dim() == 1 && t.sizes()[0] == 0) t = b.repeated(t);
  return l;
}

}  // namespace

Value batch_leading(const Batching& b) {
  Values args = arguments_in_front(b);
  int rank = 0;
  for (const Value& v : args)
    if (v.is_tensor()) rank = std::max(rank, static_cast<int>(v.tensor().dim()) - 1);
  for (Value& v : args)
    if (v.is_tensor()) v = raise_rank(v.tensor(), rank);
  return with_empty_results(b, call(b.op, args));
}

Value batch_cores(const Batching& b, std::initializer_list<int> cores) {
  Values args = arguments_in_front(b);
  std::vector<std::size_t> tensors;
  for (std::size_t i = 0; i < args.size(); i++)
    if (b.op.schema.args[i].type.kind == Kind::tensor) tensors.push_back(i);
  int lead = 0;
  auto core = cores.begin();
  for (const std::size_t i : tensors) {
    const int c = *core++;
    if (args[i].is_tensor()) lead = std::max(lead, b.rank(static_cast<int>(i)) - c);
  }
  core = cores.begin();
  for (const std::size_t i : tensors) {
    const int c = *core++;
    if (args[i].is_tensor()) args[i] = raise_rank(args[i].tensor(), lead + c);
  }
  return with_empty_results(b, call(b.op, args));
}

Value batch_samples(const Batching& b, int core) {
  Values args = arguments_in_front(b);
  const bool sampled = first_rank(b) > core;
  Int samples = 1;
  for (Value& v : args) {
    if (!v.is_tensor()) continue;
    if (!sampled) continue;
    samples = v.tensor().sizes()[1];
    v = merge_dims(v.tensor(), 0);
  }
  for (const char* name : {"input_size", "input_sizes"})
    if (const int i = b.op.schema.index_of(name); i >= 0 && sampled) {
      Shape s = b[i].ints();
      s[0] = s[0] * b.size;
      args[static_cast<std::size_t>(i)] = s;
    }
  const Value r = call(b.op, args);
  if (!sampled) return r;
  if (r.is_tensor()) return split_dim(r.tensor(), 0, b.size, samples);
  TensorList l;
  for (const Tensor& t : r.tensors()) l.push_back(t.defined() ? split_dim(t, 0, b.size, samples) : t);
  return l;
}

Value refuse_dynamic_shape(const Batching& b) {
  throw_user_error(text("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over ",
                        b.op.qualified(), ". Please voice your support in https://github.com/pytorch/functorch/issues/256"));
}

Value batch_by_form(const Batching& b) {
  switch (b.op.form()) {
    case Form::pointwise: return batch_pointwise(b);
    case Form::reduction: return batch_reduction(b);
    case Form::view: return batch_dims(b);
    case Form::factory: return batch_factory(b);
    case Form::random: return batch_random(b);
    default: return batch_loop(b);
  }
}

}  // namespace ingot
