// Guards: everything that a compilation assumed about the arguments and about what holds around the
// call, as one value that each later call is checked against. A compiled function is right for the
// calls that break none; what happens to the others is the entry point's decision
// (AotOptions::guards).
//
// Of a tensor: its rank, sizes, strides, type and device, whether it requires grad and is an
// inference tensor, its wrapper class with the looks of what it is made of; its place in the
// storage where the function refers to the storage; whether it is a leaf where the function writes
// it. Sizes that are open are checked by what the trace needed of them (size_guards.hpp). Of an
// argument that the function writes, or its backward: which other arguments are that tensor, which
// share memory with it, and which do not. Where nothing is written aliasing decides nothing, and is
// not looked at. Of other arguments: the value. Of the thread: the grad mode, inference mode,
// autocast and its type, deterministic mode, the default type, the modes that a user pushed. Of
// modules, whoever brought them: the training flags that the function read while it was traced
// (Module::is_training), and those of AotOptions::modules, read or not. A module that is gone since
// breaks its guard, and is not looked at; one that takes its place while it is still there is not
// seen.
//
// Not seen: what else a C++ function brings along by itself. A number or a flag that a lambda
// captured is what it was when the function was compiled; give it as an argument. Of tensors that
// were captured, parameters of captured modules among them, the elements are read at each call, and
// nothing else: one that is replaced by another tensor, or requires grad only later, is what it was
// (aot_module sees that of its module's). Nor is an argument's storage_offset() seen where the
// function asks for it in C++ instead of by a view.
#pragma once
#include <memory>

#include "aot/size_guards.hpp"
#include "nn/training_flag.hpp"
#include "op/wrapper_layout.hpp"

namespace ingot {
class Mode;
}  // namespace ingot

namespace ingot::aot {

struct AotOptions;
struct Assembly;

// What holds on a thread that ops, and so traces, depend on.
struct Surroundings {
  uint32_t flags = 0;
  std::vector<const Mode*> modes;  // innermost first

  static Surroundings now();
};

class Guards {
 public:
  enum class Kind : uint8_t {
    none,
    grad_mode,
    inference_mode,
    autocast,
    deterministic,
    default_dtype,
    modes,
    training,
    count,
    kind,
    value,
    dims,
    dtype,
    device,
    size,
    stride,
    offset,
    storage_bytes,
    requires_grad,
    leaf,
    inference_tensor,
    wrapper,
    same_tensor,
    shared_memory,
    base,
    open_sizes,
  };
  // The first guard that a call breaks.
  struct Broken {
    Kind kind = Kind::none;
    uint32_t argument = 0;
    uint32_t detail = 0;  // a dim, the other argument, or the number of a guard
    explicit operator bool() const { return kind != Kind::none; }
  };

  Guards() = default;  // of nothing: none is ever broken
  // `fakes`: what the function was traced on for the arguments, symbols of `sizes` in place of open
  // sizes; `around`: from before the trace.
  Guards(const Values& arguments, const Values& fakes, const ShapeEnv& sizes, const Assembly& assembly, const AotOptions& options,
         Surroundings around);

  // Guards these flags as well: of calls of is_training() while the function was traced. Nothing
  // without guards.
  void add_modules(const std::vector<nn::TrainingRead>& reads);
  // What was traced around this call depends on them, too.
  void note_modules() const;

  // Allocates nothing but for wrappers, and for guards of open sizes that are no plain arithmetic.
  Broken check(const Values& arguments) const;
  // "input 1: dtype: expected float32, found float64". For what `check` said of these arguments, at
  // the same place.
  std::string to_text(Broken b, const Values& arguments) const;
  // Nothing is broken but that a module is gone, and there is none that the function could read in
  // its place.
  bool lacks_module(Broken b) const;
  // What the function does that no graph has a form for, as the rest of a sentence about it, with
  // what to do instead: it is to be run as it is. It writes an argument whose bytes another one has
  // in a second storage, or lets an argument begin or cease to require grad. Empty: nothing.
  std::string_view beyond_graphs() const { return beyond_graphs_; }
  // From now on a call without gradients, of some arguments (A119) or by its mode, breaks nothing,
  // where values and gradients are right all the same: the function writes no argument, and returns
  // no view.
  void accept_calls_without_gradients() { accepts_no_gradients_ = may_lack_gradients_; }

 private:
  struct TensorGuard {
    uint32_t argument = 0;
    uint32_t first = 0;  // of its sizes, then its strides, in numbers_
    uint64_t open_sizes = 0, open_strides = 0;  // bit d: looked at by sizes_
    Int offset, bytes;
    uint8_t rank = 0;
    DType dtype = DType::f32;
    Device device;
    bool requires_grad = false, is_leaf = false, is_inference = false, is_wrapper = false;
    bool place_matters = false;  // in the storage, and how large that is
    bool leaf_matters = false;
  };
  struct ValueGuard {
    uint32_t argument = 0;
    Value value;
    bool is_open = false;  // an integer that sizes_ looks at
  };
  struct WrapperGuard {
    uint32_t argument = 0;
    WrapperLayout layout;
    std::vector<Geometry> leaves;
  };
  // What an argument that is written is to another one.
  enum class Relation : uint8_t { apart, apart_in_one_storage, same, shares, shares_bytes };
  struct PairGuard {
    uint32_t written = 0, other = 0;
    Relation relation = Relation::apart;
    bool by_storage = false;  // the function refers to the storage of one of them
  };
  struct BaseGuard {
    std::vector<uint32_t> members;
    std::vector<bool> is_view;  // by member, for autograd
    Geometry geometry;  // of what they are views of for autograd
    bool requires_grad = false;
  };

  bool any_ = false;
  std::string_view beyond_graphs_;
  bool accepts_no_gradients_ = false;
  bool may_lack_gradients_ = false;  // where no argument requires grad, those that did need not
  uint32_t count_ = 0;
  int params_and_buffers_ = 0;
  Surroundings around_;
  std::vector<nn::TrainingRead> modules_;
  std::vector<TensorGuard> tensors_;
  std::vector<Int> numbers_;
  std::vector<ValueGuard> values_;
  std::vector<WrapperGuard> wrappers_;
  std::vector<PairGuard> pairs_;
  std::vector<BaseGuard> bases_;
  SizeGuards sizes_;

  void add_tensor(uint32_t k, const Tensor& t, const Tensor& fake, const ShapeEnv& sizes, bool is_fixed);
  void add_relations(const Values& arguments, const Assembly& a);

  Broken check_surroundings() const;
  Broken check_modules() const;
  Broken check_tensor(const TensorGuard& g, const Tensor& t) const;
  static Broken check_place(const TensorGuard& g, const Tensor& t);
  Broken check_gradients(const Values& arguments) const;
  bool is_like(const WrapperGuard& g, const Tensor& t) const;
  static Relation relation(const Tensor& written, const Tensor& other, bool by_storage);
  bool does_hold(const BaseGuard& g, const Values& arguments) const;
  std::string argument_text(Broken b, const Values& arguments) const;
};
std::string_view to_text(Guards::Kind kind);

}  // namespace ingot::aot
