#include "op/call.hpp"

#include <atomic>
#include <bit>

#include "base/error.hpp"
#include "op/current_op.hpp"
#include "op/device_kernels.hpp"
#include "op/fits.hpp"
#include "op/function.hpp"
#include "op/kernel.hpp"
#include "op/setup.hpp"
#include "op/tensors.hpp"

namespace ingot {
namespace {

std::atomic<Handler> handlers[kLayers] = {};

// Runs an op's rule. A refusal that does not say which op refused gets the op's name in front.
template <class E>
[[noreturn]] void rethrow_named(const Op& op, const E& e) {
  if (e.names_op) throw;
  const std::string message = e.what();
  E named(message.find(op.schema.name) == std::string::npos ? op.schema.name + ": " + message : message);
  named.names_op = true;
  throw named;
}
template <class F>
auto named_refusals(const Op& op, const F& run) {
  try {
    return run();
  } catch (const IndexError& e) {
    rethrow_named(op, e);
  } catch (const UserError& e) {
    rethrow_named(op, e);
  }
}

[[noreturn]] void bad_argument(const Op& op, std::size_t i, const Value& v) {
  const SchemaArg& a = op.schema.args[i];
  throw_user_error(text(op.schema.name, "(): argument '", a.name, "' (position ", i + 1, ") must be ", type_text(a), ", not ",
                        v.kind_name(), "; the schema is ", to_text(op.schema)));
}

// An empty list says nothing about what it is a list of: rules get one of the kind that the schema
// names.
bool is_empty_of_other_kind(const SchemaType& t, const Value& v) {
  return t.is_list() && (t.kind == Kind::tensor ? v.is_ints() : v.is_tensors());
}

// Checks every argument and fills defaults. Complete calls are passed through without a copy.
Args complete(const Op& op, Args given, Values& storage) {
  const auto& params = op.schema.args;
  INGOT_REQUIRE(given.size() <= params.size() || op.schema.variadic_args, op.schema.name, "() takes at most ", params.size(),
                " arguments, found ", given.size(), "; the schema is ", to_text(op.schema));
  bool as_given = given.size() >= params.size();
  for (std::size_t i = 0; i < std::min(given.size(), params.size()); i++) {
    const SchemaType& t = params[i].type;
    if (fits(t, given[i])) {
      as_given = as_given && !is_empty_of_other_kind(t, given[i]);
      continue;
    }
    if (!widens(t, given[i])) bad_argument(op, i, given[i]);
    as_given = false;
  }
  if (as_given) return given;
  storage.assign(given.begin(), given.end());
  for (std::size_t i = 0; i < params.size(); i++) {
    if (i >= storage.size()) {
      INGOT_REQUIRE(params[i].has_default, op.schema.name, "(): missing argument '", params[i].name, "' (position ", i + 1,
                    "); the schema is ", to_text(op.schema));
      storage.push_back(params[i].default_value);
    } else if (is_empty_of_other_kind(params[i].type, storage[i])) {
      storage[i] = empty_list(&params[i].type);
    } else if (widens(params[i].type, storage[i])) {
      const auto n = static_cast<std::size_t>(std::max(params[i].type.fixed_size, 1));
      if (params[i].type.kind == Kind::real) storage[i] = Value(std::vector<double>(n, storage[i].to_double()));
      else storage[i] = Value(Shape::filled(n, storage[i].to_int()));
    }
  }
  return storage;
}

unsigned layers_of(Args args) {
  unsigned mask = 0;
  for_each_tensor(args, [&](const Tensor& t) { mask |= t->layers; });
  return mask;
}

// Whether the op goes through the layers as it is, though it is a program of other ops:
// pre-dispatch tracing keeps composites whose schema promises new results (R058); tracing keeps
// calls whose functions run depending on data, and calls of an op by its name, unless its program
// is what the trace is of; a rule for vmap takes the call itself.
bool stays_whole(const Op& op, Args args, const ThreadState& ts) {
  if (ts.layer > Layer::trace) return false;
  if (op.form() == Form::higher_order) {
    if (op.def->batch && ts.layer == Layer::transform && (layers_of(args) & layer_bit(Layer::transform))) return true;
    const CallingConvention* convention = calling_convention(op);
    // What runs for every element is a node of the tape, which keeps no elements, unless another
    // layer wants to see the functions run.
    if (convention && convention->control == Control::element &&
        ((ts.active | layers_of(args)) & (layer_bit(Layer::kernel) - 1u)) == layer_bit(Layer::autograd))
      return true;
    if (!(ts.active & layer_bit(Layer::trace)) || (ts.layer <= Layer::functionalize && taken_apart(op, args))) return false;
    const auto takes_function = [](const SchemaArg& a) { return a.type.kind == Kind::function; };
    return std::none_of(op.schema.args.begin(), op.schema.args.end(), takes_function) || convention;
  }
  if (!ts.keep_composites) return false;
  return (ts.exporting && op.def->exported.frozen) || (!op.def->result.may_alias && !op.mutates() && !op.aliases());
}

// In export a conversion that the program asks for is a copy, also where it changes nothing (R059):
// the graph shall not depend on which of the two it was. Conversions in the programs of other ops
// are as they are.
Args with_copies(const Op& op, Args args, Values& storage) {
  if (op.def->exported.copy_argument < 0 || current_op()) return args;
  if (storage.empty()) storage.assign(args.begin(), args.end());
  storage[static_cast<std::size_t>(op.def->exported.copy_argument)] = true;
  return storage;
}

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState s;
  return s;
}

void install_once(Layer layer, Handler handler) {
  // A handler is code and nothing else: whoever reads the pointer needs nothing more from the
  // thread that wrote it.
  std::atomic<Handler>& place = handlers[static_cast<int>(layer)];
  if (place.load(std::memory_order_relaxed) == handler) return;
  const Handler before = place.exchange(handler, std::memory_order_relaxed);
  INGOT_ENSURE(!before || before == handler, "layer ", static_cast<int>(layer), " has two handlers");
}

Value call(const Op& op, Args given) {
  Values storage;
  ThreadState& ts = thread_state();
  Args args = complete(op, given, storage);
  if (ts.exporting) args = with_copies(op, args, storage);
  // A body at the kernel layer is part of the op that has it. The functions a higher-order op calls
  // are the program's own.
  const RunningOp running(ts.layer == Layer::kernel ? current_op() : op.form() == Form::higher_order ? nullptr : &op);
  // Autocast may have a policy for a composite as a whole (most losses): it casts first, then the
  // op comes apart.
  const bool autocast =
      op.def->autocast != Autocast::none && ts.layer <= Layer::autocast && (ts.active & layer_bit(Layer::autocast));
  if (op.comes_apart() && !autocast && !stays_whole(op, args, ts))
    return named_refusals(op, [&] { return run_composite(op, args); });
  unsigned mask = ts.active | layers_of(args);
  mask &= ~(unsigned{layer_bit(ts.layer)} - 1u);
  for (; mask; mask &= mask - 1)
    if (const Handler h = handlers[std::countr_zero(mask)].load(std::memory_order_relaxed)) return h(op, args);
  return named_refusals(op, [&] { return run_kernel(op, args); });
}

bool call_into(const Op& op, Args given, std::span<const Tensor> results) {
  INGOT_ENSURE(thread_state().layer == Layer::kernel, "call_into goes past the layers");
  if (!op.def->kernel || op.variant != Variant::functional) return false;
  Values storage;
  const Args args = complete(op, given, storage);
  const RunningOp running(&op);
  return named_refusals(op, [&] {
    Outputs out;
    op.def->meta({op, args}, out);
    bool fits = out.geoms.size() == results.size();
    for (std::size_t k = 0; fits && k < results.size(); k++) {
      const Geometry &rule = out.geoms[k], &given = results[k]->geom;
      fits = rule.dtype == given.dtype && rule.sizes.same(given.sizes) &&
             (op.form() == Form::pointwise || rule.strides.same(given.strides));
    }
    if (fits) kernel_for(op, results.empty() ? Device{} : results[0]->device())({op, args}, results);
    return fits;
  });
}

Value call_below(Layer layer, const Op& op, Args args) {
  Scoped<Layer> s(thread_state().layer, static_cast<Layer>(static_cast<int>(layer) + 1));
  return call(op, args);
}

}  // namespace ingot
