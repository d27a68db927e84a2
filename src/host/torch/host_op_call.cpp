#include "host/torch/host_op_call.hpp"

#include <algorithm>
#include <span>

#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "host/torch/handle.hpp"

namespace ingot {
namespace {

// The letter of a value that is no list and not optional.
char letter(const SchemaType& t) {
  switch (t.kind) {
    case Kind::integer:
    case Kind::sym_int: return 'I';
    case Kind::real:
    case Kind::scalar: return 'D';
    case Kind::boolean:
    case Kind::sym_bool:
    case Kind::dtype:
    case Kind::layout:
    case Kind::memory_format:
    case Kind::device: return 'B';
    case Kind::tensor:
    case Kind::string:
    case Kind::generator: return 'P';
    default: throw_user_error(text("an argument of type ", t.name, " has no form in C"));
  }
}

// The schema's arguments in the order in which they come.
std::vector<std::size_t> order_of(const Op& op) {
  std::vector<std::size_t> order;
  const bool is_out = op.variant == Variant::out;
  const auto is_result = [&](std::size_t k) { return is_out && op.schema.args[k].type.writes(); };
  for (std::size_t k = 0; k < op.schema.args.size(); k++)
    if (is_result(k)) order.push_back(k);
  for (std::size_t k = 0; k < op.schema.args.size(); k++)
    if (!is_result(k)) order.push_back(k);
  return order;
}

class Reader {
 public:
  explicit Reader(std::span<const HostArgument> arguments) : rest_(arguments) {}

  const HostArgument& next(char type) {
    INGOT_ENSURE(!rest_.empty() && rest_.front().type == type, "a host function's row does not fit its op");
    const HostArgument& a = rest_.front();
    rest_ = rest_.subspan(1);
    return a;
  }
  template <class T>
  T* address() {
    return static_cast<T*>(next('P').pointer);
  }
  Value value(const SchemaType& t);
  std::size_t left() const { return rest_.size(); }

 private:
  Value list(const SchemaType& t);
  Value small(Kind kind, int32_t v);
  template <class T>
  static std::span<const T> elements(const void* p, int64_t n) {
    INGOT_REQUIRE(n >= 0 && (n == 0 || p != nullptr), "a list of ", n, " elements at ", p);
    return {static_cast<const T*>(p), static_cast<std::size_t>(n)};
  }

  std::span<const HostArgument> rest_;
};

Value Reader::small(Kind kind, int32_t v) {
  switch (kind) {
    case Kind::dtype: {
      const auto dtype = dtype_of_code(v);
      INGOT_REQUIRE(dtype, "dtype ", v, ": Ingot has no such type");
      return *dtype;
    }
    case Kind::layout:
      INGOT_REQUIRE(v == aoti_torch_layout_strided(), "layout ", v, ": this host has strided tensors only");
      return Layout::strided;
    case Kind::memory_format:
      INGOT_REQUIRE(v >= 0 && v <= aoti_torch_memory_format_channels_last_3d(), "memory format ", v, ": there is no such format");
      return static_cast<MemoryFormat>(v);
    case Kind::device:
      INGOT_REQUIRE(v == aoti_torch_device_type_cpu(), "device type ", v, ": this host has CPU tensors only");
      return Device{};
    default: return v != 0;
  }
}

Value Reader::list(const SchemaType& t) {
  const void* p = next('P').pointer;
  const int64_t n = next('I').integer;
  if (t.optional) {
    if (p == nullptr) return {};
    p = *static_cast<const void* const*>(p);
  }
  switch (t.kind) {
    case Kind::integer:
    case Kind::sym_int: return Shape(elements<int64_t>(p, n));
    case Kind::real: {
      const auto e = elements<double>(p, n);
      return std::vector<double>(e.begin(), e.end());
    }
    case Kind::boolean: {
      std::vector<bool> bits;
      for (const int32_t b : elements<int32_t>(p, n)) bits.push_back(b != 0);
      return bits;
    }
    case Kind::tensor: {
      TensorList tensors;
      if (t.element_optional) {
        for (const AtenTensorHandle* h : elements<const AtenTensorHandle*>(p, n)) tensors.push_back(h ? tensor_of(*h) : Tensor());
      } else {
        for (const AtenTensorHandle h : elements<AtenTensorHandle>(p, n)) tensors.push_back(tensor_of(h));
      }
      return tensors;
    }
    default: throw_user_error(text("a list of ", t.name, " has no form in C"));
  }
}

Value Reader::value(const SchemaType& t) {
  if (t.is_list()) return list(t);
  if (t.kind == Kind::generator) {
    const AtenGeneratorHandle* h = address<AtenGeneratorHandle>();
    return h && *h ? Value((*h)->generator) : Value();
  }
  if (t.kind == Kind::tensor) {
    if (!t.optional) return tensor_of(address<AtenTensorOpaque>());
    const AtenTensorHandle* h = address<AtenTensorHandle>();
    return h && *h ? Value(tensor_of(*h)) : Value();
  }
  if (t.kind == Kind::string) {
    if (!t.optional) return std::string(address<const char>());
    const char* const* s = address<const char* const>();
    return s ? Value(*s) : Value();
  }
  Value v;
  const char type = letter(t);
  if (!t.optional) {
    const HostArgument& a = next(type);
    v = type == 'D' ? Value(a.real) : type == 'I' ? Value(a.integer) : small(t.kind, static_cast<int32_t>(a.integer));
  } else if (const void* p = next('P').pointer) {
    v = type == 'D'   ? Value(*static_cast<const double*>(p))
        : type == 'I' ? Value(*static_cast<const int64_t*>(p))
                      : small(t.kind, *static_cast<const int32_t*>(p));
  }
  if (t.kind == Kind::device) next('B');  // the index: there is one CPU
  return v;
}

}  // namespace

std::string host_signature(const Op& op) {
  std::string letters;
  for (const std::size_t k : order_of(op)) {
    const SchemaType& t = op.schema.args[k].type;
    if (t.is_list()) letters += "PI";
    else letters += t.optional ? 'P' : letter(t);
    if (!t.is_list() && t.kind == Kind::device) letters += 'B';
  }
  for (const SchemaArg& r : op.schema.results)
    if (!r.type.writes()) letters += 'P';
  return letters;
}

AOTITorchError call_host_op(const char* name, std::initializer_list<HostArgument> arguments) noexcept {
  return as_status([&] {
    const Op& o = op(name);
    Reader reader({arguments.begin(), arguments.size()});
    Values values(o.schema.args.size());
    std::vector<AtenTensorHandle> written;
    for (const std::size_t k : order_of(o)) {
      if (o.schema.args[k].type.writes())
        written.push_back(static_cast<AtenTensorHandle>((arguments.end() - reader.left())->pointer));
      values[k] = reader.value(o.schema.args[k].type);
    }

    const GradModeGuard no_grad(false);
    const Value returned = call(o, values);
    for (const AtenTensorHandle h : written) h->set(h->tensor);  // it may have been resized
    const Values results = o.schema.results.size() == 1 ? Values{returned} : list_elements(returned);
    for (std::size_t k = 0; k < o.schema.results.size(); k++) {
      const SchemaType& t = o.schema.results[k].type;
      if (t.writes()) continue;
      if (t.kind == Kind::tensor) *reader.address<AtenTensorHandle>() = new_handle(results[k].tensor_or_none());
      else *reader.address<int64_t>() = results[k].to_int64();
    }
    INGOT_ENSURE(reader.left() == 0, "a host function's row does not fit its op");
  });
}

}  // namespace ingot
