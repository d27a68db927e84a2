// C++ functions for ops: what the program that writes ingot/ops.hpp is made of.
//
// The rules by which a schema becomes a declaration:
//   - A function has the op's name (overloads share it), the schema's arguments in the schema's
//     order, and its defaults. An op that writes its first argument (`add_`) takes it as `Tensor&`
//     and returns it. Of an out= variant the function is called `add_out` and takes what it writes
//     first, as in PyTorch's C++.
//   - A method has the same without the first argument, which must be a Tensor called `self`. There
//     are none for out= variants, for names that begin with '_', and for backward functions.
//   - `int` is int64_t, `SymInt` Int, `int[]` const Shape& (one number is a list of one), `T?` is
//     std::optional, but `Tensor?` an undefined Tensor and `int[]?` OptionalShape. Several results
//     are a std::tuple.
//   - Layout, pin_memory and generators are not arguments: ops take them as None.
//   - A name that is a word of C++ gets a '_' behind it.
//   - What is written by hand in include/ingot stands first, then the table's order. A later
//     function that one call would fit as well loses defaults until none does; one that differs in
//     nothing is left out, since the other is it. An argument by keyword gives way to one that is
//     not: repeat_interleave(x, 2) repeats x. One that begins with a plain bool where another takes
//     a number or dims has no arguments from there on: x.std(0) would mean the bool. Where another
//     takes a symbolic number, a list is SizeList, which no number is.
//   - Left out are ops without tensors and dtypes, of named dims, and with types that Ingot has no
//     word for. `functions.tsv` says for each schema what became of it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "op/schema_type.hpp"

namespace ingot::generate {

struct Schema : SchemaOf<SchemaArgText> {};

struct Parameter {
  std::string type, name, default_text;  // "const Tensor&", "other", "1"; no text: no default
  bool has_default = false, keyword_only = false;
};

struct Function {
  std::string op;                        // "add.Tensor"; empty: written by hand
  std::string name, result;              // "add", "Tensor"
  std::vector<Parameter> parameters;
  std::vector<std::string> values;       // by schema argument: the expression it is passed as
  std::string written;                   // the parameter that the op writes and returns; empty: none
  std::string unwrap;                    // the result from the Value `result_`, or its members from `each_result`
  bool is_method = false;

  std::size_t required() const {
    std::size_t n = parameters.size();
    while (n > 0 && parameters[n - 1].has_default) n--;
    return n;
  }
};

// What became of a schema.
struct Outcome {
  std::string op, function, method;  // "function", "by hand: …", "left out: …"; empty: not asked for
};

// The function of a schema, or why there is none.
struct Made {
  Function function;
  std::string left_out;
};
Made make_function(const Schema& schema);
// The method, if the op has one (`function` is that of its schema).
bool has_method(const Schema& schema, const Function& function);
Function make_method(Function function);

// The functions that a header of include/ingot declares: those of the namespace, and the members of
// class Tensor.
struct ByHand {
  std::vector<Function> functions, methods;
};
void read_header(std::string_view text, ByHand& out);

// Puts `f` into the set of overloads of its name, of which every call goes on meaning what it did.
// Returns why it is left out; empty: it is in.
std::string add_overload(std::vector<Function>& set, Function f);

}  // namespace ingot::generate
