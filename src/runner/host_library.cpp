// Host functions: operators that a library defines, implements and calls (I088).
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "base/dtype_code.hpp"
#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "runner/handle.hpp"

using namespace ingot;

using Implementation = void (*)(StableIValue*, uint64_t, uint64_t);

struct TorchLibraryOpaque {
  std::string ns;
  bool runs_here = true;             // what it implements is for the CPU, or for any device
  std::vector<std::string> implemented;  // by qualified name
};

namespace {

std::mutex mutex;
std::map<std::string, Implementation>& implementations() {
  static std::map<std::string, Implementation> all;
  return all;
}

// The bits of a value of at most eight bytes, and back.
template <class T>
StableIValue bits_of(T v) {
  StableIValue out = 0;
  std::memcpy(&out, &v, sizeof v);
  return out;
}
template <class T>
T from_bits(StableIValue bits) {
  T out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

// Takes the handles and addresses it meets.
Value take(StableIValue bits, const SchemaType& t, bool is_optional) {
  if (is_optional) {
    if (bits == 0) return {};
    const std::unique_ptr<StableIValue> inner(from_bits<StableIValue*>(bits));
    return take(*inner, t, false);
  }
  INGOT_REQUIRE(!t.is_list(), "a list of ", t.name, " has no form on this host's stack");
  switch (t.kind) {
    case Kind::tensor: {
      const std::unique_ptr<AtenTensorOpaque> handle(from_bits<AtenTensorHandle>(bits));
      return tensor_of(handle.get());
    }
    case Kind::integer:
    case Kind::sym_int: return from_bits<int64_t>(bits);
    case Kind::real:
    case Kind::scalar: return from_bits<double>(bits);
    case Kind::boolean:
    case Kind::sym_bool: return from_bits<bool>(bits);
    case Kind::dtype: {
      const auto dtype = dtype_of_code(from_bits<int32_t>(bits));
      INGOT_REQUIRE(dtype, "dtype ", from_bits<int32_t>(bits), ": Ingot has no such type");
      return *dtype;
    }
    case Kind::memory_format: return static_cast<MemoryFormat>(from_bits<int32_t>(bits));
    default: throw_user_error(text("a value of type ", t.name, " has no form on this host's stack"));
  }
}

StableIValue give(const Value& v, const SchemaType& t, bool is_optional) {
  if (is_optional) return v.is_none() ? 0 : bits_of(new StableIValue(give(v, t, false)));
  INGOT_REQUIRE(!t.is_list(), "a list of ", t.name, " has no form on this host's stack");
  switch (t.kind) {
    case Kind::tensor: return bits_of(new_handle(v.tensor_or_none()));
    case Kind::integer:
    case Kind::sym_int: return bits_of(v.to_int64());
    case Kind::real:
    case Kind::scalar: return bits_of(v.to_double());
    case Kind::boolean:
    case Kind::sym_bool: return bits_of(v.to_bool());
    case Kind::dtype: return bits_of(aoti_code(v.dtype()));
    case Kind::memory_format: return bits_of(static_cast<int32_t>(v.memory_format()));
    default: throw_user_error(text("a value of type ", t.name, " has no form on this host's stack"));
  }
}

// What every op that a library defined does: it calls the function that a library implemented it with.
Value call_implementation(const Call& c) {
  const Schema& schema = c.op.schema;
  Implementation function = nullptr;
  {
    const std::scoped_lock lock(mutex);
    const auto it = implementations().find(c.op.qualified());
    INGOT_REQUIRE(it != implementations().end(), c.op.qualified(), ": the operator has no implementation for the CPU");
    function = it->second;
  }
  for (const Value& v : c.args)
    INGOT_REQUIRE(!v.is_tensor() || !v.tensor()->is_fake(), c.op.qualified(),
                  ": a library's function runs on values, not on shapes");
  std::vector<StableIValue> stack(std::max(schema.args.size(), schema.results.size()));
  for (std::size_t k = 0; k < schema.args.size(); k++)
    stack[k] = give(c.args[k], schema.args[k].type, schema.args[k].type.optional);
  function(stack.data(), schema.args.size(), schema.results.size());
  Values results;
  for (std::size_t k = 0; k < schema.results.size(); k++)
    results.push_back(take(stack[k], schema.results[k].type, schema.results[k].type.optional));
  if (results.empty()) return {};
  return results.size() == 1 ? results[0] : Value(results);
}

AOTITorchError make_library(const char* ns, const char* key, TorchLibraryHandle* result) {
  return as_status([&] {
    INGOT_REQUIRE(ns != nullptr, "a library needs the name of its namespace, found null");
    const std::string_view k = key ? key : "";
    const bool runs_here = k.empty() || k == "CPU" || k.starts_with("Composite");
    *result = new TorchLibraryOpaque{ns, runs_here, {}};
  });
}

TorchLibraryOpaque& library_of(TorchLibraryHandle h) {
  INGOT_REQUIRE(h != nullptr, "expected a library, found a null handle");
  return *h;
}

}  // namespace

AOTITorchError aoti_torch_library_init_impl(const char* ns, const char* k, const char*, uint32_t,
                                            TorchLibraryHandle* ret_new_torch_lib) {
  return make_library(ns, k, ret_new_torch_lib);
}
AOTITorchError aoti_torch_library_init_def(const char* ns, const char*, uint32_t, TorchLibraryHandle* ret_new_torch_lib) {
  return make_library(ns, nullptr, ret_new_torch_lib);
}
AOTITorchError aoti_torch_library_init_fragment(const char* ns, const char*, uint32_t, TorchLibraryHandle* ret_new_torch_lib) {
  return make_library(ns, nullptr, ret_new_torch_lib);
}

AOTITorchError aoti_torch_library_def(TorchLibraryHandle self, const char* schema) {
  return as_status([&] {
    // Definitions are for the rest of the process, as the registry wants them.
    static std::deque<std::string> texts;
    static std::deque<OpDef> definitions;
    const TorchLibraryOpaque& library = library_of(self);
    std::string whole = text(library.ns, "::", schema);
    const Schema parsed = parse_schema(whole);
    INGOT_REQUIRE(find_op(text(parsed.ns, "::", parsed.qualified())) == nullptr, parsed.ns, "::", parsed.qualified(),
                  ": there is an operator of this name already");
    const std::scoped_lock lock(mutex);
    texts.push_back(std::move(whole));
    definitions.push_back({.schema = texts.back(), .body = call_implementation});
    register_ops({&definitions.back(), 1});
  });
}

AOTITorchError aoti_torch_library_impl(TorchLibraryHandle self, const char* name, void (*fn)(StableIValue*, uint64_t, uint64_t)) {
  return as_status([&] {
    TorchLibraryOpaque& library = library_of(self);
    const std::string_view n = name ? name : "";
    const std::string qualified = n.find("::") == n.npos ? text(library.ns, "::", n) : std::string(n);
    const Op* op = find_op(qualified);
    INGOT_REQUIRE(op != nullptr && op->def->body == call_implementation, qualified,
                  ": an implementation needs an operator that a library defined");
    if (!library.runs_here) return;
    const std::scoped_lock lock(mutex);
    INGOT_REQUIRE(implementations().emplace(op->qualified(), fn).second, qualified,
                  ": the operator has an implementation already");
    library.implemented.push_back(op->qualified());
  });
}

AOTITorchError aoti_torch_delete_library_object(TorchLibraryHandle tlh) {
  return as_status([&] {
    if (tlh == nullptr) return;
    const std::scoped_lock lock(mutex);
    for (const std::string& name : tlh->implemented) implementations().erase(name);  // its code may be gone soon
    delete tlh;
  });
}

AOTITorchError aoti_torch_call_dispatcher(const char* op_name, const char* overload_name, StableIValue* stack) {
  return as_status([&] {
    const std::string overload = overload_name ? overload_name : "";
    const Op& o = op(overload.empty() ? std::string(op_name) : text(op_name, ".", overload));
    Values arguments;
    for (std::size_t k = 0; k < o.schema.args.size(); k++)
      arguments.push_back(take(stack[k], o.schema.args[k].type, o.schema.args[k].type.optional));
    const GradModeGuard no_grad(false);
    const Value returned = call(o, arguments);
    const Values results = o.schema.results.size() == 1 ? Values{returned}
                           : returned.is_none()         ? Values{}
                                                        : list_elements(returned);
    for (std::size_t k = 0; k < o.schema.results.size(); k++)
      stack[k] = give(results[k], o.schema.results[k].type, o.schema.results[k].type.optional);
  });
}
