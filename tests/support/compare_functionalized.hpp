// Eager against functionalized: does a program mean the same as a program of values?
#pragma once
#include <functional>
#include <map>
#include <string>

#include "ingot/transforms.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {

enum class Agreement {
  agrees,
  agrees_in_values,  // of a result's history eager says that it has none (a multi-output view was written): run without gradients, it agrees
  agrees_in_elements,  // inputs that share a storage without elements count as apart (R083): what is written of one has no history in the others
  agrees_at_some_sizes,  // compiled: at others it is refused, because the recording fixed or bounded a size
  // Eager is fine and the other way refuses, as docs/ir.md says it does:
  refused_as_strided,  // a write through as_strided of a view (R052)
  refused_storage,  // as_strided of elements that an argument, part of a larger storage, does not have
  refused_backward,  // before it runs: eager runs it and then refuses the backward in the same words, of the same tensor if a saved one was written
  refused_histories,  // arguments that share storage without being views of one tensor, or a result with a history of its own
  refused_wrappers,  // of wrapper tensors, in PyTorch's words: inputs or results of them that alias, or are not contiguous and written; conditions
  refused_leaf,  // an in-place view of a leaf under no_grad, which eager allows and PyTorch's compiled functions do not
  refused_operand,  // gradients of control flow one of whose operands was written: recorded, and in PyTorch eagerly too, it saves them all
  refused_looks,  // compiled alone: an input that looks otherwise afterwards, in PyTorch's words for export
  refused_gaps,  // compiled alone: a written copy of a part of a storage (select_scatter of a column), with what lies around its elements
  refused_growing,  // a view that is too small for an out=, which eager makes larger and PyTorch's functionalization refuses in these words
  refused_larger_input,  // the same of an input, whose storage is the caller's and would have to grow
  refused_smaller_input,  // an input that out= makes smaller, or gives other sizes, while something else may write the elements that it leaves
  refused_aliases,  // compiled alone: an input that is written shares memory with another one, which PyTorch's export refuses, too
  refused_strides,  // compiled alone: strides with gaps or in an order that the recording fixed
  refused_data,  // a decision by data that no graph can take
  refused_sizes,  // compiled: a size that the recording fixed or bounded, at every setting but the one that it was recorded at
  differs,
};
// Of the gradients of a result or an input with respect to the leaves that the inputs were made of.
enum class GradientAgreement {
  no_history,  // it does not require grad
  agree,
  agree_in_values,  // and lie otherwise: strides of what grad() returns are no promise, those of .grad are the leaf's
  both_refuse,  // a saved tensor was written, say
  refused_by_eager,  // alone: in-place views count as writes, and of a saved tensor functionalize has the value
  refused,  // by the other way alone, whose backward goes through all results: eager refuses that of another one in the same words
};
using GradientCounts = std::map<GradientAgreement, int>;
struct Comparison {
  Agreement agreement = Agreement::agrees;
  std::string what;  // the refusal, or the first difference
  GradientCounts gradients =
      {};  // of how many results and inputs they were compared; none where the program did not run both ways
};

// Runs the program eagerly, functionalized, and as the graph of the functionalized program, each on
// inputs of its own, and compares everything that a caller sees (seen.hpp), gradients (not of the
// graph, which has no grad modes), how far the random stream went, and then what happens to
// everything when each result is written.
Comparison compare_functionalized(const Program& p);

// The same for what `transform` makes of the program, on tensors alone, at one setting of its open
// sizes.
Comparison compare_transformed(const Program& p, const std::function<TensorFunction(const TensorFunction&)>& transform,
                               std::size_t setting = 0);

// Which rule refused the program at a setting at which eager runs it, by its words, where the
// program does what the rule refuses; `differs` for other words and for other programs. `apart`: by
// what takes inputs that share a storage for apart.
Comparison refused(const Program& p, const std::string& message, std::size_t setting = 0, bool apart = false);

// "agree", "refused: …"
const char* name_of(Agreement a);
const char* name_of(GradientAgreement a);

}  // namespace ingot::testing
