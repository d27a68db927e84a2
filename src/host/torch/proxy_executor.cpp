#include "host/torch/proxy_executor.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "graph/target.hpp"
#include "io/json.hpp"
#include "format/pt2/argument.hpp"
#include "ingot/autograd.hpp"
#include "io/file.hpp"
#include "op/call.hpp"
#include "host/torch/handle.hpp"

namespace ingot {
namespace {

using Tags = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view tag, Tags tags) { return std::find(tags.begin(), tags.end(), tag) != tags.end(); }

// A file's own values refer to nothing.
class NoScope final : public ArgumentScope {
 public:
  Node* value(const std::string& name, const Json& where) override {
    where.fail(text("the value ", name, " has no meaning outside its graph"));
  }
  Node* subgraph(const Json& graph) override { graph.fail("an operator that takes a function cannot be called here"); }
};

// The kind of an argument as the format spells it.
std::string_view usual_tag(const SchemaType& type) {
  const bool list = type.is_list();
  switch (type.kind) {
    case Kind::tensor: return !list ? "as_tensor" : type.element_optional ? "as_optional_tensors" : "as_tensors";
    case Kind::integer:
    case Kind::sym_int: return list ? "as_ints" : "as_int";
    case Kind::real: return list ? "as_floats" : "as_float";
    case Kind::boolean:
    case Kind::sym_bool: return list ? "as_bools" : "as_bool";
    case Kind::dtype: return "as_scalar_type";
    case Kind::layout: return "as_layout";
    case Kind::device: return "as_device";
    case Kind::memory_format: return "as_memory_format";
    case Kind::string: return list ? "as_strings" : "as_string";
    default: return "as_float";
  }
}

}  // namespace

ProxyExecutor::Argument ProxyExecutor::read_argument(const Json& tagged, const Op& op, std::size_t index) {
  const SchemaType& type = op.schema.args[index].type;
  const auto [tag, v] = tagged.tagged();
  Argument a;
  if (tag == "as_custom_obj") tagged.fail("script objects are not supported: this host has no classes to make them of");
  const bool is_integer = type.kind == Kind::integer || type.kind == Kind::sym_int;
  if (type.kind == Kind::tensor && type.is_list() && is_one_of(tag, {"as_tensors", "as_optional_tensors"})) {
    a.from = Argument::From::tensors;
    const bool is_optional = tag == "as_optional_tensors";
    v.for_each([&](const Json& e) { a.present.push_back(!is_optional || e.tagged().first == "as_tensor"); });
  } else if (type.kind == Kind::tensor && !type.is_list() && is_one_of(tag, {"as_tensor", "as_optional_tensor"})) {
    a.from = Argument::From::tensor;
    if (tag == "as_optional_tensor" && v.tagged().first == "as_none") a.from = Argument::From::file;
  } else if (is_integer && type.is_list() && is_one_of(tag, {"as_ints", "as_sym_ints"})) {
    a.from = Argument::From::integers;
    a.present.assign(v.size(), true);
  } else if ((is_integer || type.kind == Kind::scalar) && !type.is_list() && is_one_of(tag, {"as_int", "as_sym_int"})) {
    a.from = Argument::From::integer;
  } else {
    NoScope scope;
    SpelledArgument spelled;
    const ingot::Argument read = ingot::read_argument(tagged, &type, scope, spelled);
    INGOT_REQUIRE(read.is_value() && tag_fits(spelled, read, type), "Expected extern kernel ", op.qualified(),
                  " to have serialized argument type ", usual_tag(type), " for argument ", index, " but got ", tag);
    a.value = read.value();  // a device is the default one already: where the program runs, not where it was exported
  }
  return a;
}

ProxyExecutor::Result ProxyExecutor::read_result(const Json& tagged) {
  const auto [tag, v] = tagged.tagged();
  Result r;
  if (tag == "as_none") return r;
  if (tag == "as_tensor") r.kind = Result::Kind::tensor;
  else if (tag == "as_tensors") r.kind = Result::Kind::tensors, r.count = v.size();
  else if (tag == "as_int") r.kind = Result::Kind::integer, r.integer = v.integer();
  else tagged.fail(text("a result of kind ", tag, " cannot be handed back"));
  return r;
}

ProxyExecutor::Node ProxyExecutor::read_node(const Json& j) {
  const std::string target = j.field("target").string();
  Node n;
  n.op = find_target(target);
  if (n.op == nullptr) n.op = find_op(target);
  if (n.op == nullptr)
    j.fail(text("the operator ", target, " is not known to this process; register it before the model is loaded"));
  const Schema& schema = n.op->schema;
  n.arguments.resize(schema.args.size());
  std::vector<bool> given(schema.args.size());
  j.field("inputs").for_each([&](const Json& input) {
    const int at = schema.index_of(input.field("name").string());
    if (at < 0) input.fail(text(target, " has no argument ", input.field("name").string()));
    const auto k = static_cast<std::size_t>(at);
    n.arguments[k] = read_argument(input.field("arg"), *n.op, k);
    given[k] = true;
  });
  for (std::size_t k = 0; k < given.size(); k++) {
    if (given[k]) continue;
    if (!schema.args[k].has_default)
      j.fail(text(target, ": argument ", schema.args[k].name, " is missing, and it has no default"));
    n.arguments[k].value = schema.args[k].default_value;
  }
  j.field("outputs").for_each([&](const Json& output) { n.results.push_back(read_result(output)); });
  return n;
}

ProxyExecutor::ProxyExecutor(std::string_view json, const std::string& what) {
  const JsonDocument document(json, what);
  document.root().field("nodes").for_each([&](const Json& entry) { nodes_.push_back(read_node(entry.field("node"))); });
}

std::unique_ptr<ProxyExecutor> ProxyExecutor::open(const std::string& path) {
  if (!std::filesystem::exists(path)) return nullptr;
  return std::make_unique<ProxyExecutor>(MappedFile::open(path)->bytes(), path);
}

void ProxyExecutor::call(int index, std::span<const int64_t> ints, std::span<const AtenTensorHandle> tensors) const {
  INGOT_REQUIRE(index >= 0 && static_cast<std::size_t>(index) < nodes_.size(), "Invalid extern node index");
  const Node& n = nodes_[static_cast<std::size_t>(index)];
  std::size_t tensor_id = 0, int_id = 0;
  const auto next_handle = [&] {
    INGOT_REQUIRE(tensor_id < tensors.size(),
                  "Mismatch between tensors consumed and num_tensors, got tensor_id = ", tensor_id + 1,
                  ", expected num = ", tensors.size());
    return tensors[tensor_id++];
  };
  const auto next_int = [&] {
    INGOT_REQUIRE(int_id < ints.size(), "Mismatch between ints consumed and num_ints, got int_id = ", int_id + 1,
                  ", expected num = ", ints.size());
    return ints[int_id++];
  };

  Values args;
  for (const Argument& a : n.arguments) {
    switch (a.from) {
      case Argument::From::file: args.push_back(a.value); break;
      case Argument::From::tensor: args.push_back(tensor_of(next_handle())); break;
      case Argument::From::integer: args.push_back(next_int()); break;
      case Argument::From::tensors: {
        TensorList list;
        for (const bool is_there : a.present) list.push_back(is_there ? tensor_of(next_handle()) : Tensor());
        args.emplace_back(std::move(list));
        break;
      }
      case Argument::From::integers: {
        Shape list;
        for (std::size_t k = 0; k < a.present.size(); k++) list.push_back(next_int());
        args.emplace_back(std::move(list));
        break;
      }
    }
  }

  const GradModeGuard no_grad(false);
  const Value returned = ingot::call(*n.op, args);
  const bool is_one = n.op->schema.results.size() == 1;
  const Values results = is_one ? Values{returned} : returned.is_none() ? Values{} : list_elements(returned);
  INGOT_REQUIRE(results.size() >= n.results.size(), n.op->qualified(), ": ", n.results.size(),
                " results are described, it returned ", results.size());
  for (std::size_t k = 0; k < n.results.size(); k++) {
    const Result& r = n.results[k];
    switch (r.kind) {
      case Result::Kind::none: break;
      case Result::Kind::tensor: {
        const AtenTensorHandle h = next_handle();
        tensor_of(h);
        h->set(results[k].tensor_or_none());
        break;
      }
      case Result::Kind::tensors: {
        const TensorList& list = results[k].tensors();
        INGOT_REQUIRE(list.size() == r.count, n.op->qualified(), ": a list of ", r.count, " tensors is described, it returned ",
                      list.size());
        for (const Tensor& t : list) {
          const AtenTensorHandle h = next_handle();
          tensor_of(h);
          h->set(t);
        }
        break;
      }
      case Result::Kind::integer: {
        const int64_t found = results[k].to_int64();
        INGOT_REQUIRE(found == r.integer,
                      "Expect returned int value to match the serialized int value, but got returned int value: ", found,
                      " and serialized int value: ", r.integer);
        break;
      }
    }
  }
  INGOT_REQUIRE(tensor_id == tensors.size(), "Mismatch between tensors consumed and num_tensors, got tensor_id = ", tensor_id,
                ", expected num = ", tensors.size());
  INGOT_REQUIRE(int_id == ints.size(), "Mismatch between ints consumed and num_ints, got int_id = ", int_id,
                ", expected num = ", ints.size());
}

}  // namespace ingot

using namespace ingot;

AOTITorchError ingot_host_open_proxy(const char* path, AOTIProxyExecutorHandle* executor, char* why, size_t room) {
  try {
    std::unique_ptr<ProxyExecutor> opened = ProxyExecutor::open(path);
    *executor = opened ? opened.release()->handle() : nullptr;
    return AOTI_TORCH_SUCCESS;
  } catch (const std::exception& e) {
    std::snprintf(why, room, "%s", e.what());
    return AOTI_TORCH_FAILURE;
  }
}
void ingot_host_close_proxy(AOTIProxyExecutorHandle executor) { delete reinterpret_cast<ProxyExecutor*>(executor); }

AOTITorchError aoti_torch_proxy_executor_call_function(AOTIProxyExecutorHandle proxy_executor, int extern_node_index,
                                                       int num_ints, int64_t* flatten_int_args, int num_tensors,
                                                       AtenTensorHandle* flatten_tensor_args) {
  return as_status([&] {
    INGOT_REQUIRE(
        proxy_executor != nullptr,
        "Unable to find a proxy executor to run custom ops. Please check if there is a json file generated in the same directory as the so, "
        "or use torch._inductor.aoti_compile_and_package to package everything into a PT2 artifact.");
    reinterpret_cast<const ProxyExecutor*>(proxy_executor)
        ->call(extern_node_index, {flatten_int_args, static_cast<std::size_t>(num_ints)},
               {flatten_tensor_args, static_cast<std::size_t>(num_tensors)});
  });
}
