// What a compiler says about a graph that it was given, beside what runs it (R072, R073, R189).
#pragma once
#include <optional>

#include "ingot/value.hpp"

namespace ingot::aot {

// Strides by output of the graph; none: as traced, or no tensor.
using OutputStrides = std::vector<std::optional<Shape>>;

struct CompileReport {
  OutputStrides strides;
  std::string artifact;  // the key under which a store has what was compiled (cache.hpp); empty: none has
};

// For a compiler, while it compiles: its code lays results out in another way than the graph. A
// backward is compiled for saved tensors that look so. Outside of a compilation it says nothing.
void report_output_strides(OutputStrides strides);
// … what it returns can be had again from the store of the cache.
void report_artifact(std::string key);

// What compilers called in the scope report, on this thread.
class CompileReportScope {
 public:
  CompileReportScope();
  ~CompileReportScope();
  CompileReportScope(const CompileReportScope&) = delete;
  CompileReportScope& operator=(const CompileReportScope&) = delete;

  const CompileReport& report() const { return report_; }

 private:
  CompileReport report_;
  CompileReport* old_;
};

// A fake of the tensor as it was reported, or the tensor itself where that is no news. Sizes of the
// example are compared and no guard is made: what the compiler says is no question about them.
Tensor with_strides(const Tensor& fake, const std::optional<Shape>& strides);

}  // namespace ingot::aot
