// How an op that is neither a formula nor a view says its compiled form. The rule OpDef::lower sees
// the call, whose tensors are fake and may have symbolic sizes, and defines each result once: by
// loops, or by a kernel of src/kernels. A rule that has no form for a call defines nothing: the
// call is then one of the eager library. src/loop implements this interface; ops know no more of
// the compiler than what stands here.
//
//   void mm_lower(Lowering& l) {
//     const Expr i = l.variable(l.size(0, 0)), j = l.variable(l.size(1, 1)), k = l.variable(l.size(0, 1));
//     l.define(0, {i, j}, l.fold(Accumulate::sum, {k}, l.load(0, {i, k}) * l.load(1, {k, j})));
//   }
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/expr.hpp"
#include "ingot/op/definition.hpp"

namespace ingot {

enum class Accumulate : uint8_t { sum, product, min, max, all, any };

// What a kernel's C function is given.
struct KernelArgument {
  enum class Kind : uint8_t {
    input,    // const void*: the elements of tensor argument `index`, dense, in row-major order
    result,   // void*: those of result `index`, likewise; the kernel writes all of them
    null,     // a null pointer
    int32,    // values[0]
    int64,    // values[0]
    array,    // const int64_t*: values; or a struct of int64_t, as kernels::Rows is
    scratch,  // void*: values[0] bytes of its own, 64-byte aligned
  };
  Kind kind;
  int index = 0;
  std::vector<Expr> values;

  static KernelArgument input(int argument) { return {Kind::input, argument, {}}; }
  static KernelArgument result(int k) { return {Kind::result, k, {}}; }
  static KernelArgument null() { return {Kind::null, 0, {}}; }
  static KernelArgument int32(int32_t v) { return {Kind::int32, 0, {Expr(v)}}; }
  static KernelArgument int64(Expr v) { return {Kind::int64, 0, {std::move(v)}}; }
  static KernelArgument array(std::vector<Expr> v) { return {Kind::array, 0, std::move(v)}; }
  static KernelArgument scratch(Expr bytes) { return {Kind::scratch, 0, {std::move(bytes)}}; }
};

struct Lowering {
  explicit Lowering(const Call& c) : call(c) {}
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;
  virtual ~Lowering() = default;

  const Call& call;
  Expr size(int argument, int dim) const { return call.tensor(argument).size(dim).expr(); }

  // What the shape rule promised for result k.
  virtual const Geometry& result(int k) const = 0;
  // Whether anybody reads result k: one that nobody reads may be left undefined.
  virtual bool is_read(int k) const = 0;
  // A new loop variable over [0, extent).
  virtual Expr variable(const Expr& extent) = 0;
  // An element of a tensor argument, in its own dtype. A number that stands for a tensor is a
  // constant.
  virtual Expr load(int argument, std::span<const Expr> index) = 0;
  Expr load(int argument, std::initializer_list<Expr> index) { return load(argument, std::span(index.begin(), index.size())); }
  // The same of tensor `item` of a list.
  virtual Expr load_item(int argument, int item, std::span<const Expr> index) = 0;
  // `body` accumulated, in its dtype, over all values of the variables `over`: part of the value of
  // the next `define`, and of the bodies of folds after it.
  virtual Expr fold(Accumulate how, std::vector<Expr> over, const Expr& body) = 0;
  // result k [vars] = value, converted to the result's dtype; one variable for each of its dims.
  // Without folds it need not be stored: what reads it may compute it.
  virtual void define(int k, std::vector<Expr> vars, const Expr& value) = 0;
  // A value of the rule's own, kept for what follows: an element for each value of the variables,
  // in the dtype of `value`. Whether it is ever in memory is the scheduler's business.
  virtual int temporary(std::vector<Expr> vars, const Expr& value) = 0;
  virtual Expr load_temporary(int temporary, std::span<const Expr> index) = 0;
  Expr load_temporary(int temporary, std::initializer_list<Expr> index) {
    return load_temporary(temporary, std::span(index.begin(), index.size()));
  }
  // The run fails with the message unless the condition, over elements of temporaries, holds.
  virtual void check(const Expr& condition, std::string message) = 0;
  // Results, among the arguments, are what the C function `symbol` of src/kernels writes.
  virtual void kernel(std::string_view symbol, std::vector<KernelArgument> args) = 0;
};

}  // namespace ingot
