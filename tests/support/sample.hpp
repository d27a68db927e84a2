// Declarative op samples (tests/samples/*.txt): one op call a line.
//   add.Tensor(f64[A=2|4,3], f64[3]:t, alpha=2)   # nogradgrad
// A tensor is dtype[sizes] with modifiers; `A=2|4` names an open size with the two values it is
// tried at. The format is described in tests/samples/README.md.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "op/op.hpp"

namespace ingot::testing {

struct Sample {
  std::string file;
  int line = 0;
  std::string text;             // without flags
  std::string op_name;
  std::set<std::string> flags;
  bool has(const char* flag) const { return flags.contains(flag); }
  std::string where() const { return file + ":" + std::to_string(line) + ": " + text; }
};

// How a sample's arguments are made.
enum class Make {
  real,      // tensors with values
  fake,      // the same geometry without bytes
  symbolic,  // fakes whose named sizes are symbols; needs a current GuardEnv of type ShapeEnv
};

struct SampleCall {
  const Op* op = nullptr;
  Values args;
};

// setting 0 or 1: which value the named sizes take (the hint, when symbolic). User error for text
// that does not parse.
SampleCall make_call(const Sample& s, Make make, int setting);
// Values of the named sizes at a setting.
std::map<std::string, int64_t, std::less<>> dims_of(const Sample& s, int setting);

// ---- what checks over samples share
// The results of a call, each by itself.
Values results_of(const Value& r);
using TensorTest = bool (*)(const Tensor&);
bool is_double(const Tensor& t);  // float64 or complex128: finite differences and gradients need them
bool is_defined(const Tensor& t);
// The tensors among the arguments that pass the test, in order; members of lists too.
TensorList tensors_of(const Values& args, TensorTest passes);
// The arguments with those tensors replaced.
Values with_tensors(const Values& args, TensorTest passes, const TensorList& replacement);

std::vector<std::string> sample_files(const std::string& folder);  // sorted *.txt
std::vector<Sample> read_samples(const std::string& path);

}  // namespace ingot::testing
