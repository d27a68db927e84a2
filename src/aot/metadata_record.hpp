// Metadata as a value: compared, printed, and without what a run does not need.
#pragma once
#include <span>
#include <string>

#include "aot/dense.hpp"
#include "aot/metadata.hpp"

namespace ingot::aot {

// R044: of views only where they lead is compared, not by which steps; of tangents sizes and types.
bool same_record(const Metadata& a, const Metadata& b);

// The fields of an input, by the names that the specification gives them (R023).
struct InputField {
  std::string_view name;
  bool InputInfo::* value;
};
std::span<const InputField> input_fields();

// A line for each input and output with what is true of it, then the rest.
std::string to_text(const Metadata& m);

// The record of the function over plain tensors: every one of a wrapper's has the wrapper's part in
// it (R067, R069). `returned`: how what the graph returns is made of them.
Metadata dense_record(const Metadata& m, const DenseLayout& inputs, const DenseLayout& returned);

// R045: without the tangents, whose fakes would live as long as the compiled function. Once only.
Metadata runtime_record(Metadata m);

}  // namespace ingot::aot
