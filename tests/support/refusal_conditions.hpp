// What a program does that some ways to run it refuse: found by running it eagerly, call by call,
// so that a refusal counts as one of its class only where its condition holds.
#pragma once
#include <cstddef>

#include "support/random_program.hpp"

namespace ingot::testing {

// Whether a call looks past the elements of the input that it is a view of, at others of its
// storage; where inputs are not apart, past those of all inputs that share it.
bool looks_past_inputs(const Program& p, std::size_t setting, bool apart);
// Whether an as_strided looks at elements that the tensor it is taken of does not have.
bool looks_past_its_tensor(const Program& p, std::size_t setting);

// Whether an out= gives an input a larger storage, or at open sizes lets it look past what the
// inputs have of it; whether one leaves it fewer elements, or as many in other sizes.
struct ResizedInputs {
  bool larger = false, smaller = false, reshaped = false;
};
ResizedInputs resized_inputs(const Program& p, std::size_t setting);

struct Conditions {
  bool writes_by_places = false;  // to what as_strided took of a view, or a view of that
  bool looks_past = false;  // by as_strided, or out= of other sizes, at what its tensor does not have, or an input may not
  bool refers_to_places = false;  // of a storage: as_strided, out=, inputs on one storage, windows that overlap
  bool grows = false;  // an out= needs more bytes than its tensor had
  bool turns_leaf = false;  // an in-place view, or an out=, of a leaf that requires grad
};
// Of the calls until one is refused.
Conditions conditions_of(const Program& p, const InputOptions& options);

bool shares_storage_of_inputs(const Program& p, std::size_t setting);
// Whether a result that requires grad lives on the storage of an input without being a view of it
// as the tape sees it, or of what out= gave other sizes.
bool makes_history_on_inputs(const Program& p, std::size_t setting);

}  // namespace ingot::testing
