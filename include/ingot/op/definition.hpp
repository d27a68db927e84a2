// What an op is: one value with its rules beside it. Ingot's own are OpDef constants under src/ops;
// a program registers ops of its own in the same way, and they take part in everything: eager runs,
// gradients, vmap, traces and compiled code.
//
//   void scale_meta(const Call& c, Outputs& o) { o.add(c.tensor(0).sizes(), c.tensor(0).dtype()); }
//   void scale_kernel(const Call& c, std::span<const Tensor> results);     // fills results[0]
//   void scale_vjp(Vjp& v) { if (v.need(0)) v.set(0, v.grad() * 3); }      // ingot/op/vjp.hpp
//   void scale_lower(Lowering& l);                                         // ingot/op/lowering.hpp
//
//   constexpr OpDef kOps[] = {{.schema = "mine::scale(Tensor x) -> Tensor",
//                              .meta = scale_meta, .kernel = scale_kernel, .vjp = scale_vjp, .lower = scale_lower}};
//   register_ops(kOps);
//   Tensor y = aten<"mine::scale">(x);                                     // ingot/op/call.hpp
//
// docs/adding-an-op.md says what each rule is for.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ingot/geometry.hpp"
#include "ingot/value.hpp"

namespace ingot {

class Batching;
class Expr;
class Vjp;
struct Op;  // the op that a definition became: op/op.hpp of Ingot's own folders
struct CallingConvention;
struct Formula;
struct Lowering;

// What an op is. Passes and engines ask this, never a name.
enum class Form : uint8_t {
  pointwise,    // result element = formula of the operands' elements (broadcast)
  reduction,    // result element = fold over some dims
  view,         // another geometry of the same storage
  factory,      // makes a tensor from numbers
  random,       // reads the random stream
  external,     // a kernel that is not a loop nest we can write as a formula (sort, gemm, fft …)
  composite,    // a program of other ops: comes apart before any layer sees it
  higher_order, // a program that calls the functions it is given: comes apart as a composite does
};

// The variants of an op that may run backward: the others refuse, in PyTorch's words.
enum class GradVariants : uint8_t { both, functional, inplace };

// What an op that writes its first argument without writing elements does to it. Functionalize
// follows each by hand.
enum class Rewires : uint8_t {
  nothing,
  storage,  // set_: the argument looks at another storage from now on
  size,     // resize_: other sizes, and more bytes where they are needed
  bytes,    // resize_storage_bytes_: only the storage's size
};

// What autocast does with the op's floating arguments.
enum class Autocast : uint8_t { none, lower_precision, float32, promote };

// One call, as every rule sees it: all arguments of the schema are there, defaults filled in, in
// schema order. Where the schema ends in "..." more may follow.
struct Call {
  const Op& op;
  Args args;
  const Value& operator[](int i) const { return args[static_cast<std::size_t>(i)]; }
  const Tensor& tensor(int i) const { return args[static_cast<std::size_t>(i)].tensor(); }
};

// The results a meta rule promises. `device` starts as that of the first tensor argument.
struct Outputs {
  std::vector<Geometry> geoms;
  Device device;
  void add(Geometry g) { geoms.push_back(std::move(g)); }
  void add(Shape sizes, DType dtype) { geoms.push_back(Geometry::contiguous(std::move(sizes), dtype)); }
};
#ifndef INGOT_RULE  // A rule that only the compiler and the tape ask for: what models are linked with has none (src/eager/archive.hpp).
#define INGOT_RULE(result, name, argument) result (*name)(argument)
#endif
inline constexpr int8_t kResult = -1, kAny = -1;
struct Save {  // a tensor the backward needs
  int8_t what = 0;  // index of an argument, or kResult - k for result k
  int8_t needed_for = kAny;  // saved only if the gradient of this argument (kAny: of any) is asked for
};
struct Saves {
  std::array<Save, 8> list{};
  uint8_t count = 0;
  constexpr Saves() = default;
  constexpr Saves(std::initializer_list<Save> l) {
    for (Save s : l) list[count++] = s;
  }
  const Save* begin() const { return list.data(); }
  const Save* end() const { return list.data() + count; }
};

// Every op uses some of the fields of the definition itself; what few ops have to say is in groups.
struct OpDef {
  std::string_view schema;
  Form form = Form::external;

  // How results are made: one of (of a node that is a program and too slow eagerly the first two:
  // eager calls on the CPU run the kernel, all else the program)
  //   meta + kernel   the shape rule, then a function that fills the allocated results (never
  //                   called on fakes)
  //   body            a program of other ops. Form::composite: comes apart before any layer. Any
  //                   other form: the op is a node of its own (own vjp, own listing) and the body
  //                   runs at the kernel layer, on fakes too
  //   view.geometry   views: the results' geometry over the storage of argument 0
  void (*meta)(const Call&, Outputs&) = nullptr;
  void (*kernel)(const Call&, std::span<const Tensor> results) = nullptr;
  Value (*body)(const Call&) = nullptr;
  // Pointwise ops: the formula for this call (src/op/formula.hpp), written once for eager and
  // compiled code.
  const Formula* (*formula)(const Call&) = nullptr;

  struct View {
    void (*geometry)(const Call&, Outputs&) = nullptr;
    // `base` with the elements seen through result `out` replaced by `updated`. If
    // !inverse_reads_base the view is a bijection and only base's geometry is used (base may be any
    // tensor of that geometry).
    Tensor (*inverse)(const Call&, const Tensor& base, const Tensor& updated, int out) = nullptr;
    bool inverse_reads_base = false;
    // The geometry is relative to the storage, whatever view of it the argument is (as_strided).
    bool from_storage = false;
    // The op that makes the same values and copies where strides forbid the view (reshape for
    // view). Empty: the view itself.
    std::string_view or_copy{};
  };
  View view{};

  // Gradients. Without a vjp, a floating result of arguments that require grad gets a node that
  // refuses to run; a rule that has no gradient for one argument says so itself
  // (derivative_not_implemented). tests/error/refusals.txt has every op that refuses.
  INGOT_RULE(void, vjp, Vjp&) = nullptr;
  Saves saves{};
  struct Grad {
    GradVariants variants = GradVariants::both;
    bool none = false;  // the results never require grad (argmax, …)
    uint16_t refuses = 0;  // bit i: a call whose argument i requires grad is an error (the weight of nll_loss_forward)
    uint8_t results = 0xff;  // bit k: result k may require grad (not layer norm's mean and rstd)
    bool detaches = false;  // detach and detach_: the result starts without history
    uint8_t node_number = 0;  // at the end of PyTorch's node name: MeanBackward1
  };
  Grad grad{};

  Autocast autocast = Autocast::none;
  // Compiled form of what is neither a formula nor a view (ingot/op/lowering.hpp).
  INGOT_RULE(void, lower, Lowering&) = nullptr;
  // How a call with batched arguments runs as one call (ingot/op/batching.hpp). Without a rule the
  // op's form decides, or a loop.
  INGOT_RULE(Value, batch, const Batching&) = nullptr;

  struct Result {
    bool uninitialised = false;  // the bytes are whatever memory held (empty and its like)
    bool may_alias = false;  // composite: whether a result is an argument, or one is written, depends on the arguments
    bool is_wrapper = false;  // a tensor of a class, made of the arguments (src/op/wrapper.hpp): no node of a graph
    bool reads_wrapper = false;  // a part of a wrapper: the layer of wrappers answers, not the tensor's class
    bool only_moved = false;  // elements are copied and filled by the drivers of devices: one kernel does for all of them
    bool order_is_free = false;  // picks among equal elements in an order that PyTorch leaves open (sort, topk)
  };
  Result result{};

  // What a call does beside its results and the elements that it writes.
  struct Effects {
    Rewires rewires = Rewires::nothing;
    bool ordered = false;  // calls happen in the program's order, and graphs say so by tokens (R168)
  };
  Effects effects{};

  // What is different while a program is exported (R058, R059).
  struct Exported {
    // Nothing may write the result any more, and a composite of this kind stays whole where others
    // do, though it may alias.
    bool frozen = false;
    int8_t copy_argument = -1;  // says whether a conversion copies in any case, which export says it does
  };
  Exported exported{};

  std::string_view same_as{};  // composite: the op that it is another name of, with the same arguments
  // Ops that call functions: how, if a call can be recorded without knowing which of them run
  // (src/op/function.hpp).
  INGOT_RULE(const CallingConvention&, convention, ) = nullptr;
};

// Adds definitions, which must outlive the process; once for each. User error for a schema that
// does not parse or whose op is there already.
void register_ops(std::span<const OpDef> defs);

}  // namespace ingot
