// The example inputs that an exporter keeps beside a program (section 3 of the format's
// description).
#pragma once
#include <optional>
#include <string>

#include "format/pt2/pickle.hpp"

namespace ingot {

struct SampleInputs {
  PythonValue args;    // a tuple
  PythonValue kwargs;  // a dict
};

struct SampleInputsResult {
  std::optional<SampleInputs> inputs;  // none where the archive has none
  std::string warning;                 // why those it has cannot be read; empty otherwise
};

// Nothing needs them, so what is wrong with them is no more than a warning. User error as for
// load_pt2 for a file that is no exported program.
SampleInputsResult read_sample_inputs(const std::string& path, const std::string& model = {});

}  // namespace ingot
