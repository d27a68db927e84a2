// From the host's input tensors to what generated code reads: checks, symbols, layout.
#pragma once
#include "ingot/aoti.h"
#include "ingot/model.h"
#include "model/device.hpp"
#include "model/memory.hpp"
#include "model/program.h"

namespace ingot::model {

struct Run;

class Inputs {
 public:
  bool make(const ingot_entry& entry, const Device& device);

  // Reads and checks the tensors (borrowed) and sets the symbols that they decide. What the run
  // writes lies apart from all others. Without `checks` sizes, ranges, guards and that are taken on
  // trust; dtypes, ranks and devices are not. False after a failure that names the input, what was
  // expected and found.
  bool bind(const AtenTensorHandle* tensors, int64_t* symbols, bool checks);

  // The same of inputs that are not there yet: of their elements those of numbers alone are read,
  // and whether they lie apart is not asked.
  bool bind_sizes(const ingot_tensor_info* tensors, int64_t* symbols);

  // Where the elements of each input are, laid out as the program expects: in place, or, on the
  // CPU, in a copy that lasts as long as the run.
  bool lay_out(Run& run);
  void* const* elements() const { return elements_.data(); }

  // Do the elements of any input have a byte in common with those of `view`, whose dtype is set?
  bool overlap_with(const ingot_view& view) const;

  // Brings what the run wrote into copies back to the tensors.
  void write_back();

 private:
  struct Name;
  Name name_of(uint32_t k) const;
  bool check_tensor(uint32_t k, AtenTensorHandle tensor);
  bool check_kind(uint32_t k) const;  // dtype and rank
  bool decide(int64_t* symbols, bool checks);
  bool check_ranges(const int64_t* symbols) const;
  bool check_sizes() const;
  bool check_guards(const int64_t* symbols) const;
  bool check_written() const;
  bool fail_for_symbol(uint32_t symbol, int64_t found) const;
  bool fail_for_strides(uint32_t k, const int64_t* expected, const char* hint) const;

  struct alignas(16) Number {
    char bytes[16];
  };

  const ingot_entry* entry_ = nullptr;
  Device device_;
  Array<ingot_view> views_;  // as they were given
  Array<void*> elements_;
  Array<int64_t> expected_;  // sizes, then strides, input by input
  Array<Number> numbers_;  // aligned copies of the inputs that are numbers
};

}  // namespace ingot::model
