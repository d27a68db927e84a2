// A loop program: buffers, and the steps that fill them in order. Every size, stride, offset and extent is an expression of
// the program's symbols, so one program serves all sizes for which its guards hold.
//
// Text form, for people and tests (it cannot be read back yet: the parser comes with the scheduler's tests):
//
//   program main(s0 >= 2)
//     input arg0_1: f32[s0, 4]
//     arena sum_1: f32[s0] at 64*((3*s0 + 15) // 16)
//     output t: f32[3, s0] strides [1, 3]
//     mm[i0 < s0, i1 < 3] = %0 where %0 = sum(i2 < 4) arg0_1[i0, i2]*arg1_1[i2, i1]
//     call ingot_k_sort_rows(6, sum_1, {1, s0, 1, 1}, s0, …)
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "expr/expr.hpp"
#include "expr/guards.hpp"
#include "op/lowering.hpp"

namespace ingot::loop {

enum class Place : uint8_t {
  input,   // the caller's, read only
  output,  // the caller's, written
  arena,   // at `offset` in the block of memory the caller lends for one run
};

// Load(id; index…) reads element [index…] of buffer `id`, its position in Program::buffers. Strides are in elements and
// not negative; the first element is at the buffer's address.
struct Buffer {
  std::string name;  // unique in its program
  DType dtype = DType::f32;
  std::vector<Expr> sizes, strides;
  Place place = Place::arena;
  Expr offset;  // arena: in bytes, a multiple of 64
};

// `tmp` is `body` accumulated over all values of `vars`, in the dtype of both.
struct Fold {
  Expr tmp;
  Accumulate how = Accumulate::sum;
  std::vector<Expr> vars;
  Expr body;  // may use the variables of its computation and the folds before it
};

// out[vars] = value for all values of vars. Folds are done for each of them, in order, before the value.
struct Computation {
  int out = 0;
  std::vector<Expr> vars;
  std::vector<Fold> folds;
  Expr value;  // in the dtype of `out`
};

// A call of a C function of src/kernels.
struct KernelCall {
  struct Argument {
    enum class Kind : uint8_t { read, write, null, int32, int64, array };
    Kind kind;
    int buffer = 0;            // read, write: its address
    std::vector<Expr> values;  // int32, int64: one; array: the address of these int64_t
  };
  std::string symbol;
  std::vector<Argument> args;
};

using Step = std::variant<Computation, KernelCall>;

struct Program {
  std::string name = "main";
  std::vector<Expr> symbols;  // in the order in which a run is given their values
  std::vector<Guard> guards;  // a run is right where these, and the symbols' ranges, hold
  std::vector<Buffer> buffers;
  std::vector<int> inputs, outputs;
  std::vector<Step> steps;
  Expr arena_bytes = 0;
};

std::string to_text(const Program& p);

// Gives every arena buffer its offset and the program its arena_bytes. No two buffers share memory yet.
void plan_memory(Program& p);

// The buffers a step reads and writes, each once, in order of first use.
std::vector<int> buffers_of(const Step& step);

}  // namespace ingot::loop
