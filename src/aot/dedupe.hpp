// One tensor given as several arguments (section 7.1).
#pragma once
#include "aot/prepared.hpp"

namespace ingot::aot {

// Fakes that are one tensor become tensors of their own, all but the first.
void separate_repeats(Values& fakes);

class Dedupe {
 public:
  // Repeats that nobody writes become tensors of their own (R075); others are left out, and the
  // function gets them back (R076).
  Dedupe(Prepared& p, int params_and_buffers, int id);
  // The same again: `places` as below.
  Dedupe(std::vector<std::size_t> places, int params_and_buffers, int id);
  // Where repeats were left out: what the record of the function with them makes one expect of the
  // function without (R076).
  std::optional<Metadata> expected_record(const Metadata& with_repeats) const;
  // The compiled function with the arguments that the caller gives; user error where they repeat
  // otherwise (R078).
  FlatCallable around(FlatCallable inner) const;
  bool drops() const { return drops_; }  // the function takes fewer arguments than the caller gives
  // Where it does: the place of each argument among those that are kept; otherwise none.
  std::vector<std::size_t> places() const { return drops_ ? place_ : std::vector<std::size_t>(); }

 private:
  int params_and_buffers_, id_;
  std::vector<bool> keep_;
  std::vector<std::size_t> place_;  // of each argument among those that are kept
  bool drops_ = false;
};

}  // namespace ingot::aot
