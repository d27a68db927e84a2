#include "op/kernel.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/if_known.hpp"
#include "op/device_kernels.hpp"
#include "op/promotion.hpp"
#include "op/tensors.hpp"
#include "tensor/geometry.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

// Tensors of one call live on one device; a 0-dim CPU tensor may go along with another device as a
// number does. What only moves elements is done where its first tensor is.
Device common_device(const Op& op, Args args) {
  Device d, first;
  bool any = false;
  for_each_tensor(args, [&](const Tensor& t) {
    if (!any) first = t->device();
    if (!any || (d.type == DeviceType::cpu && t->device().type != DeviceType::cpu)) d = t->device();
    any = true;
  });
  if (d.type != DeviceType::cpu && only_moves_elements(op)) return first;
  for_each_tensor(args, [&](const Tensor& t) {
    INGOT_REQUIRE(t->device() == d || (t.dim() == 0 && t->device().type == DeviceType::cpu), op.schema.name,
                  ": Expected all tensors to be on the same device, but found at least two devices, ", d, " and ", t->device(),
                  "! Move them with to(device)");
  });
  return d;
}

// Anybody may define an op (register_ops): what its definition lacks is an error of whoever wrote
// it.
void check_rules(const Op& op) {
  const OpDef& d = *op.def;
  INGOT_REQUIRE(
      d.kernel || !d.meta, op.qualified(),
      " cannot run: its definition has a shape rule, but nothing that computes the results. Add OpDef::kernel, which fills "
      "them, or OpDef::body in place of both");
  INGOT_REQUIRE(
      d.meta || !d.kernel, op.qualified(),
      " cannot run: its definition has a kernel, but no shape rule. Add OpDef::meta, which says the sizes and dtypes of "
      "the results from those of the arguments");
  INGOT_REQUIRE(d.meta, op.qualified(),
                " cannot run: its definition says nothing of the results. Add OpDef::meta and OpDef::kernel (the shape rule, and "
                "what fills the results), OpDef::body (a program of other ops), or of a view OpDef::View::geometry");
}

// Where a call runs: where its tensors are, or if they are on the CPU, where the shape rule says
// that the results shall be.
Device device_of_call(Device arguments, const Outputs& out) { return arguments.type == DeviceType::cpu ? out.device : arguments; }

Value pack(const Op& op, TensorList outs) {
  if (op.returns_list()) return Value(std::move(outs));
  const std::size_t want = op.schema.results.size();
  INGOT_REQUIRE(outs.size() == want, op.qualified(), ": its schema has ", want, " results, its shape rule gave ", outs.size(),
                ". OpDef::meta (of a view OpDef::View::geometry) adds one geometry for each result of the schema");
  return want == 1 ? Value(outs[0]) : Value(std::move(outs));
}

Value run_view(const Op& op, Args args) {
  Outputs out;
  op.def->view.geometry({op, args}, out);
  TensorList outs;
  for (Geometry& g : out.geoms) outs.push_back(make_alias(args[0].tensor(), std::move(g)));
  return pack(op, std::move(outs));
}

// Whether an op that is a program runs as it. One that has a kernel beside its program has it for
// speed: the program is what a trace records, what it looks like on fakes, and what devices run
// that the kernel is not made for.
bool runs_as_program(const Op& op, Args args) {
  const OpDef& d = *op.def;
  return d.body && (!d.kernel || is_fake_call(args) || common_device(op, args).type != DeviceType::cpu);
}

// A functional op with rules of its own.
Value run_functional(const Op& op, Args args) {
  const OpDef& d = *op.def;
  if (d.view.geometry) return run_view(op, args);
  if (runs_as_program(op, args)) {
    Scoped<Layer> s(thread_state().layer, Layer::kernel);
    return d.body({op, args});
  }
  check_rules(op);
  Outputs out;
  const Device device = out.device = common_device(op, args);
  d.meta({op, args}, out);
  const bool fake = is_fake_call(args);
  const EagerKernel kernel = fake ? nullptr : kernel_for(op, device_of_call(device, out));
  TensorList outs;
  for (Geometry& g : out.geoms) outs.push_back(make_tensor(std::move(g), out.device, fake));
  if (kernel) kernel({op, args}, outs);
  return pack(op, std::move(outs));
}

void check_writable(const Op& op, const Tensor& t) {
  INGOT_REQUIRE(!t->storage->is_read_only(), op.schema.name,
                ": the tensor is read-only (its bytes are mapped from a file); clone() it "
                "before writing");
}

// Whether a pointwise kernel may write straight into self: whoever shares its storage has the very
// same elements.
bool may_write_directly(const Op& f, Args args, const Tensor& self, const Geometry& result) {
  if (f.form() != Form::pointwise || !f.def->kernel || !result.sizes.same(self.sizes())) return false;
  bool ok = true;
  for_each_tensor(args, [&](const Tensor& t) {
    if (t->storage == self->storage && !t->geom.same(self->geom)) ok = false;
  });
  return ok;
}

Value run_inplace(const Op& op, Args args) {
  const Op& f = *op.functional;
  const Tensor& self = args[0].tensor();
  if (op.is_view()) {  // metadata only
    Outputs out;
    f.def->view.geometry({f, args}, out);
    self->geom = std::move(out.geoms.at(0));
    return Value(self);
  }
  if (!self->is_fake()) check_writable(op, self);
  check_no_overlap(op, self);
  if (f.def->kernel) {
    check_rules(f);
    Outputs out;
    const Device device = out.device = common_device(op, args);
    f.def->meta({f, args}, out);
    check_written_size(op, self, out.geoms.at(0).sizes);
    check_written_type(op, self, out.geoms[0].dtype);
    if (is_fake_call(args)) return Value(self);
    if (may_write_directly(f, args, self, out.geoms[0])) {
      const Tensor outs[] = {self};
      kernel_for(f, device_of_call(device, out))({f, args}, std::span<const Tensor>(outs));
      return Value(self);
    }
  }
  const Tensor r = run_kernel(f, args).tensor();
  check_written_size(op, self, r.sizes());
  check_written_type(op, self, r.dtype());
  if (!self->is_fake()) copy_elements(self, r);
  return Value(self);
}

// Gives an out= tensor the result's sizes, growing its storage if need be.
void resize_out(const Tensor& out, const Shape& sizes) {
  if (out.sizes() == sizes) return;
  Geometry g = Geometry::contiguous(sizes, out.dtype());
  g.offset = out->geom.offset;
  const Int need = required_bytes(g);
  if (out->storage->nbytes() < need) out->storage->resize(need);
  out->geom = std::move(g);
}

Value run_out(const Op& op, Args args) {
  Values inputs;
  TensorList outs;
  for (std::size_t i = 0; i < args.size(); i++) {
    if (!op.schema.args[i].type.writes()) inputs.push_back(args[i]);
    else if (args[i].is_tensors()) outs.insert(outs.end(), args[i].tensors().begin(), args[i].tensors().end());
    else outs.push_back(args[i].tensor());
  }
  const Value r = call(*op.functional, inputs);
  const Op& copy = op_ref<"copy_">();
  for (std::size_t k = 0; k < outs.size(); k++) {
    const Tensor& result = r.is_tensor() ? r.tensor() : r.tensors().at(k);
    check_written_type(op, outs[k], result.dtype());
    check_out_size(op, args, outs[k], result.sizes());
    resize_out(outs[k], result.sizes());
    call(copy, {outs[k], result});
  }
  return outs.size() == 1 ? Value(outs[0]) : Value(std::move(outs));
}

}  // namespace

void check_written_size(const Op& op, const Tensor& self, const Shape& sizes) {
  INGOT_REQUIRE(sizes == self.sizes(), op.schema.name, ": output with shape ", self.sizes(),
                " doesn't match the broadcast shape ", sizes);
}
void check_out_size(const Op& op, Args args, const Tensor& out, const Shape& sizes) {
  if (op.functional->form() != Form::pointwise) return;
  for (std::size_t i = 0; i < args.size(); i++)
    if (!op.schema.args[i].type.writes() && args[i].is_tensor() && args[i].tensor().is_same(out))
      check_written_size(op, out, sizes);
}
void check_written_type(const Op& op, const Tensor& self, DType result) {
  // copy_ and friends convert anything; arithmetic must not lose a category.
  INGOT_REQUIRE(can_cast(result, self.dtype()), op.schema.name, ": result type ", scalar_type_name(result),
                " can't be cast to the desired output type ", scalar_type_name(self.dtype()));
}
namespace {

// Of open sizes what is seen at once: a dim along which there is one element only, and more than
// one index.
bool repeats_elements(const Geometry& g) {
  bool repeats = false;
  for (std::size_t d = 0; d < g.sizes.size(); d++)
    repeats = repeats || (g.strides[d].same(0) && less_if_known(1, g.sizes[d]).value_or(false));
  return repeats && std::ranges::none_of(g.sizes, [](Int n) { return equal_if_known(n, 0).value_or(false); });
}

}  // namespace

void check_no_overlap(const Op& op, const Tensor& self) {
  const Geometry& g = self->geom;
  const bool is_open = g.sizes.is_symbolic() || g.strides.is_symbolic();
  INGOT_REQUIRE(!(is_open ? repeats_elements(g) : may_overlap(g)), op.schema.name,
                ": unsupported operation: more than one element of the written-to tensor refers "
                "to a single memory location. Please clone() the tensor before performing the operation.");
}

bool is_fake_call(Args args) {
  bool any = false, fake = false;
  for_each_tensor(args, [&](const Tensor& t) {
    any = true;
    fake |= t->is_fake();
  });
  return fake || (!any && thread_state().fake_factories);
}

Value run_kernel(const Op& op, Args args) {
  switch (op.variant) {
    case Variant::functional: return run_functional(op, args);
    case Variant::inplace: return run_inplace(op, args);
    case Variant::out: {
      Scoped<Layer> s(thread_state().layer, Layer::kernel);
      return run_out(op, args);
    }
  }
  return {};
}

Value run_composite(const Op& op, Args args) {
  switch (op.variant) {
    case Variant::functional: return op.def->body({op, args});
    case Variant::inplace: {
      if (op.same_as) return call(*op.same_as, args);
      // f_(x) is x.copy_(f(x)): the program of f stays visible to every layer. What it keeps of x
      // for gradients must not be written.
      Values given(args.begin(), args.end());
      if (thread_state().grad_mode && given[0].tensor().requires_grad()) given[0] = call(op_ref<"clone">(), {given[0]});
      const Value r = call(*op.functional, given);
      const Op& copy = op_ref<"copy_">();
      return call(copy, {args[0], r});
    }
    case Variant::out: return run_out(op, args);
  }
  return {};
}

}  // namespace ingot
