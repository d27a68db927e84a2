// What a function does to its inputs, and what its outputs are to them: found by running it once on
// functional tensors, without a graph (R020). Everything after this — what the graph takes and
// returns, what is written back, how outputs are made views again — reads these records and never
// the function.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/meta.hpp"
#include "ingot/aot/function.hpp"

namespace ingot::aot {

enum class Mutation : uint8_t { none, in_graph, out_of_graph };

// R023. Of what is no tensor every field is false.
struct InputInfo {
  bool is_tensor = false;
  bool is_leaf = false;  // before the call
  bool mutates_data = false;  // an element was written, through the input or a view of it made inside
  bool mutates_metadata = false;  // its size, stride or offset is another one afterwards
  bool mutates_storage_metadata = false;  // set_ gave it another storage
  bool resizes_storage = false;
  bool hidden_from_autograd = false;  // all writes are (also where there are none)
  bool under_no_grad = false;  // it was written, and all writes were under no_grad or inference mode
  bool requires_grad = false;  // after the call
  bool changes_requires_grad = false;  // a leaf that begins or ceases to require grad, which no graph says
  bool keep_mutations = false;  // the caller wants writes in the graph where they can be
  bool refers_to_storage =
      false;  // a view was taken of it that counts from the beginning of the storage, or the storage was changed
  std::vector<ViewStep> steps;  // the in-place views it went through

  Mutation mutation() const;  // R030, R031
};

// R034: what an output is, and so how the caller gets it.
enum class OutputKind : uint8_t {
  non_alias,  // a value of the graph
  alias_of_input,  // made again as a view of an input
  is_input,  // the input itself
  alias_of_intermediate_save_as_output,  // made again as a view of an intermediate that the graph returns for this purpose …
  alias_of_intermediate,  // … of one that an earlier output asked for
  alias_of_intermediate_base_is_user_output,  // … of another output
  unsafe_view_alias,  // a view of an intermediate that nobody else sees: a value of the graph
  custom_function_view,  // a view of an input that a custom function made: a value of the graph
};
std::string_view to_text(OutputKind kind);

// R033.
struct OutputInfo {
  OutputKind kind = OutputKind::non_alias;
  bool is_tensor = false;
  int base = -1;  // the input, the intermediate base or the output that it is a view of; -1: none
  std::vector<int> dynamic_dims;  // whose size is symbolic
  bool requires_grad = false;
  bool multi_output = false;  // one of several views that one call made: autograd lets nobody write it (R037)
  // Of a view that is made again: the way from its base; from an input as it was before the call
  // changed how it looks.
  std::vector<ViewStep> steps;
  std::size_t older_steps = 0;  // of them: that are older than the last write
  bool can_replay = false;  // otherwise its geometry has to do
  // Of a conj and the like (tensor/stand_in.hpp): the input, or else the output, that it stands in
  // for a view of; -1: the caller sees neither. And the op that made it.
  int stands_in_for_input = -1, stands_in_for_output = -1;
  std::string stand_in_by;

  bool base_is_input() const;  // and not a result
  bool is_made_again() const;  // it is no value of the graph, but what the caller's side makes of one
  bool has_tangent() const { return is_tensor && requires_grad && !is_made_again(); }
};

// R040 to R042.
struct Metadata {
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;
  int tokens = 0;  // kinds of ordered effects: inputs and outputs of the graph before all others (R168)
  int intermediate_bases = 0;  // outputs of the graph after the user's, in order of collection (R039)
  bool keep_mutations = false;
  bool has_wrappers = false;  // an input or an output is a wrapper tensor (R160)
  bool is_train = false;
  TensorList tangents;  // fakes of what the backward is given, in the order of R041
  std::vector<int> static_parameters;  // inputs that are parameters, where the front end inlines modules (R046)
  std::optional<bool> grad_mode;  // that the function leaves behind, where it is another one (R022)
  bool is_runtime_record = false;  // what a run does not need was taken away (R045)

  std::vector<int> mutated_out_of_graph() const;  // inputs that the caller's side writes back
  std::vector<int> mutated_in_graph() const;
  std::vector<int> aliased_outputs() const;  // every kind that is made again, or is an input
  int returned() const;  // by the forward graph, before what is saved for the backward
  std::vector<std::size_t> with_tangents() const;  // of what it returns: those whose gradients the backward is given (R099)
};

// Runs f once on functional tensors over `inputs`, which are fakes (inputs.hpp). User errors: the
// autocast state is another one afterwards (R021), a set_ or resize that cannot be in the graph
// (R032), an output that is none of the types of R004.
Metadata collect_metadata(const FlatFunction& f, const Values& inputs, bool keep_mutations, bool is_train);

}  // namespace ingot::aot
