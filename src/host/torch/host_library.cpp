// Host functions: operators that a library defines, implements and calls (I088).
#include <deque>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "ingot/autograd.hpp"
#include "op/call.hpp"
#include "host/torch/handle.hpp"
#include "host/torch/stable_value.hpp"

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
  static auto& all = *new std::map<std::string, Implementation>;  // there still when libraries go at the end of the process
  return all;
}

// What every op that a library defined does: it calls the function that a library implemented it
// with.
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
  for (std::size_t k = 0; k < schema.args.size(); k++) stack[k] = give_stable(c.args[k], schema.args[k].type);
  function(stack.data(), schema.args.size(), schema.results.size());
  Values results;
  for (std::size_t k = 0; k < schema.results.size(); k++) results.push_back(take_stable(stack[k], schema.results[k].type));
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
    const Op* op = find_op(qualified);  // none: a library may define it later
    INGOT_REQUIRE(op == nullptr || op->def->body == call_implementation, qualified,
                  ": the operator is one of Ingot's own, whose implementation stays as it is");
    if (!library.runs_here) return;
    const std::string known = op ? op->qualified() : qualified;
    const std::scoped_lock lock(mutex);
    INGOT_REQUIRE(implementations().emplace(known, fn).second, qualified, ": the operator has an implementation already");
    library.implemented.push_back(known);
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
    for (std::size_t k = 0; k < o.schema.args.size(); k++) arguments.push_back(take_stable(stack[k], o.schema.args[k].type));
    const GradModeGuard no_grad(false);
    const Value returned = call(o, arguments);
    const Values results = o.schema.results.size() == 1 ? Values{returned}
                           : returned.is_none()         ? Values{}
                                                        : list_elements(returned);
    for (std::size_t k = 0; k < o.schema.results.size(); k++) stack[k] = give_stable(results[k], o.schema.results[k].type);
  });
}
