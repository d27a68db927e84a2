// A loop program: buffers, and the steps that fill them in order. Every size, stride, offset and
// extent is an expression of the program's symbols, so one program serves all sizes for which its
// guards hold.
//
// Lowering makes Computations; scheduling (schedule.hpp) turns them into Kernels, which a backend
// generates code for. What kind of machine that is for shows in sizes alone. Its text form is
// loop/text.hpp.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.hpp"
#include "expr/guards.hpp"
#include "ingot/expr.hpp"
#include "ingot/op/lowering.hpp"
#include "op/op.hpp"

namespace ingot::loop {

// Buffers in the arena and in scratch memory begin at multiples of so many bytes.
constexpr int64_t kAlignment = 64;

enum class Place : uint8_t {
  input,     // the caller's
  constant,  // a parameter, buffer or literal of the model
  output,    // made during the run, the caller's afterwards
  arena,     // at `offset` in the block of memory that is lent for one run
  lent,      // memory of its own for one run: its size is known only after an earlier step
  scratch,   // at `offset` in memory that one value of a kernel's `outer` has to itself: a thread's, or a block's on a GPU
};

// Load(id; index…) reads element [index…] of buffer `id`, its position in Program::buffers. Strides
// are in elements and not negative; the first element is at the buffer's address.
struct Buffer {
  std::string name;  // unique in its program
  DType dtype = DType::f32;
  std::vector<Expr> sizes, strides;
  Place place = Place::arena;
  Expr offset;  // arena, scratch: in bytes, a multiple of 64
};

Expr bytes_of(const Buffer& b);

// `tmp` is `body` accumulated over all values of `vars`, in the dtype of both.
struct Fold {
  Expr tmp;
  Accumulate how = Accumulate::sum;
  std::vector<Expr> vars;
  Expr body;  // may use the variables of its computation and the folds before it
};

// out[leading…, vars…] = value for all values of vars. Folds are done for each of them, in order,
// before the value.
struct Computation {
  int out = 0;
  std::vector<Expr> vars;
  std::vector<Fold> folds;
  Expr value;  // in the dtype of `out`
  std::vector<Expr> leading = {};  // without variables: which row of `out` this is about

  std::vector<Expr> index() const {
    std::vector<Expr> all = leading;
    all.insert(all.end(), vars.begin(), vars.end());
    return all;
  }
};

// One loop nest: for all values of vars, every fold takes its body in and every store is done, in
// order; where they overwrite what they read, all values are computed before. A fold's tmp may be
// read by nests after this one. From here on an element has one index: its distance from the first,
// in elements.
struct Store {
  int out = 0;
  Expr offset;
  Expr value;  // in the dtype of `out`
};
struct Nest {
  std::vector<Expr> vars;
  std::vector<Fold> folds;  // their vars are the nest's
  std::vector<Store> stores;
};

// What sums of products are of: the elements that are multiplied, and what their products are added
// in.
struct ProductTypes {
  DType rows = DType::f32, columns = DType::f32, sums = DType::f32;

  bool operator==(const ProductTypes&) const = default;
};

// Sums of products: for all values of vars, row and column, sums = Σ over all values of k of
// rows * columns. What they are of, and where each of them lies, is the same on every machine; the
// sums of all rows and columns are made together, by code of the machine's that it knows by name.
// For which types and extents there is such code, and how the factors must lie for it, its backend
// says.
struct Product {
  // The element at this distance from the buffer's first.
  struct Element {
    int buffer = -1;
    Expr offset;
  };

  ProductTypes types;
  std::vector<Expr> k;
  std::vector<Expr> vars;  // one value after the other; a sum may be made again
  Expr row, column;  // their extents are numbers
  Element rows;  // of vars, k and row
  Element columns;  // of vars, k and column
  // Of vars, row and column. The buffer is of the type of the sums, or of a wider one where each is
  // a sum of many (kTermsInFloat).
  Element sums;
  std::string microkernel;  // the name of the code
  std::size_t place = 0;  // how many of the kernel's nests come before it

  std::vector<const Expr*> offsets() const { return {&rows.offset, &columns.offset, &sums.offset}; }
};

// For all values of `outer`, each on its own and in any order: the nests, one after the other, and
// the product, if there is one, in its place among them.
struct Kernel {
  std::string name;
  std::vector<Expr> outer;
  std::vector<Nest> nests;
  // Which variable's neighbours are computed together, by lanes of a vector or threads side by
  // side: the last of `outer`, around all nests, or each nest's own last variable.
  bool across = false;
  Expr scratch_bytes = 0;
  std::optional<Product> product = {};
};

// A call of a C function of src/kernels.
struct KernelCall {
  struct Argument {
    enum class Kind : uint8_t { read, write, null, int32, int64, array };
    Kind kind;
    int buffer = 0;  // read, write: its address
    std::vector<Expr> values;  // int32, int64: one; array: the address of these int64_t
  };
  std::string symbol;
  std::vector<Argument> args;
};

// An op that has no loops, run by the eager library inside the model, or by the process it is
// loaded into (src/model/program.h says what the text is).
struct EagerCall {
  struct Size {
    int result, dim;
    Expr symbol;  // is decided by this size
  };
  std::string op;  // its name, for the linker
  bool by_host = false;  // somebody registered it: only a process that has it can run it
  bool draws = false;  // it takes random numbers
  std::string text;
  std::vector<int> tensors;
  std::vector<Expr> integers;  // a real one goes as its bits
  std::vector<int> results;  // those of Place::lent that have a size in `decides` are made by the op
  std::vector<Size> decides;
};

// A number of the data becomes a symbol of the program: `value` loads from buffers.
struct Decide {
  Expr symbol, value;
};

// The run fails with this text unless the condition, over data, holds.
struct Check {
  Expr condition;
  std::string message;
};

struct Branch;
struct Repeat;
struct Times;
using Step = std::variant<Computation, Kernel, KernelCall, EagerCall, Decide, Check, Branch, Repeat, Times>;
using Steps = std::vector<Step>;

// Conditions are over data: elements of buffers.
struct Branch {
  Expr condition;
  Steps then, otherwise;
};
// While the condition holds, which `test` prepares: the body.
struct Repeat {
  Steps test;
  Expr condition;
  Steps body;
};
// For symbol = 0, 1, … below count.
struct Times {
  Expr symbol, count;
  Steps body;
};

struct Program {
  std::string name = "main";
  std::vector<Expr> symbols;  // in the order in which a run is given their values; those that steps decide come last
  std::size_t decided = 0;  // how many of them steps decide
  std::vector<Guard> guards;  // a run is right where these, and the symbols' ranges, hold
  std::vector<Buffer> buffers;
  std::vector<int> inputs, constants, outputs;
  std::vector<Expr> numbers;  // by input: its one element, a symbol or what others decide (2*s0); null for tensors
  Steps steps;
  Expr arena_bytes = 0;
};

// The buffers a step reads and writes, each once, in order of first use.
std::vector<int> buffers_of(const Step& step);
std::vector<int> written_by(const Step& step);
// Calls f for every step, those inside others too, before the step that they are in.
void each_step(const Steps& steps, const std::function<void(const Step&)>& f);

}  // namespace ingot::loop
