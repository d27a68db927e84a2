// A program with what its .pt2 file says about itself, so that it is written as it was read.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/pt2/spelling.hpp"
#include "program/program.hpp"
#include "program/tree_spec.hpp"

namespace ingot {

// How a module of the program is called. That of the program itself, the one without a name, is its
// entry point's.
struct ModuleCall {
  std::string fqn;
  std::optional<CallSpec> spec;               // of a submodule; none: the file does not keep it
  std::string inputs = "[]", outputs = "[]";  // JSON text: the reference writes them empty for the program itself
};

// What a file says about the program as a whole, beside what the program is.
struct Pt2Facts {
  int64_t schema_major = 8, schema_minor = 17;
  std::string torch_version;
  std::vector<std::string> verifiers;  // dialects: TRAINING, ATEN, …
  std::vector<std::pair<std::string, int64_t>> opset_version;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::pair<std::string, std::string>> range_constraints;  // JSON text by expression
  std::vector<std::string> guards;                                     // Python text
  NamedTupleFields namedtuple_fields;
  std::vector<ModuleCall> module_calls;
};

struct Pt2Program {
  Program program;  // of one entry point
  Pt2Facts facts;
  SpelledGraph spelled;  // how the entry point's graph is written; empty for one that no file brought
};

}  // namespace ingot
