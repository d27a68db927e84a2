// Runs operators that a library has no code for, as a JSON file beside it describes them (I091 to
// I094). The operators are those of the process: Ingot's own and the ones its user registered.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/aoti_host.h"
#include "op/op.hpp"

namespace ingot {

class ProxyExecutor {
 public:
  // `json`: {"nodes": [{"name", "node": {"target", "inputs", "outputs"}}…]}; `what` starts every
  // message about it. User error for a file that is none, an operator the process does not have, or
  // an argument of a kind that its schema does not take.
  ProxyExecutor(std::string_view json, const std::string& what);
  // The file's executor; null where there is no such file.
  static std::unique_ptr<ProxyExecutor> open(const std::string& path);

  // Calls node `index`. Tensors: the arguments' in schema order, then one for each result, which is
  // set. User error as in I093.
  void call(int index, std::span<const int64_t> ints, std::span<const AtenTensorHandle> tensors) const;

  AOTIProxyExecutorHandle handle() { return reinterpret_cast<AOTIProxyExecutorHandle>(this); }

 private:
  // Where an argument's value comes from: `count` tensors or ints of the call, or the file.
  struct Argument {
    enum class From : uint8_t { file, tensor, tensors, integer, integers };
    From from = From::file;
    std::vector<bool> present;  // of a list: which members are there
    Value value;  // from the file
  };
  struct Result {
    enum class Kind : uint8_t { none, tensor, tensors, integer };
    Kind kind = Kind::none;
    std::size_t count = 1;  // of tensors
    int64_t integer = 0;  // what the exporter saw
  };
  struct Node {
    const Op* op = nullptr;
    std::vector<Argument> arguments;  // one for each of the schema
    std::vector<Result> results;
  };
  std::vector<Node> nodes_;

  static Node read_node(const class Json& node);
  static Argument read_argument(const class Json& tagged, const Op& op, std::size_t index);
  static Result read_result(const class Json& tagged);
};

}  // namespace ingot
