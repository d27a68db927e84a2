// What an ATen schema says, without values: enough to read and to write one.
//   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

enum class Kind : uint8_t {
  // clang-format off
  tensor, integer, sym_int, real, boolean, sym_bool, complex, scalar, dtype, layout, device, memory_format, string,
  generator, storage, stream, dimname, any,
  // clang-format on
  function,  // of values: only higher-order ops, whose schemas are ours, take these
  other,  // a type no rule of ours takes (dicts, futures, type variables …): its text is kept
};

struct SchemaType {
  Kind kind = Kind::any;
  std::string name;       // the base type as written: "SymInt", "Tensor", "t"
  std::string alias;      // alias annotation inside the parentheses: "a", "a!", "a -> *", "a|b"; empty: none
  bool alias_after_lists = false; // Tensor[](a!) against Tensor(a!)[]: the list itself, or its members
  bool element_optional = false;  // Tensor?[]
  int lists = 0;          // number of [] that follow
  int fixed_size = -1;    // int[2]: 2
  bool optional = false;  // trailing ?
  bool is_list() const { return lists > 0; }
  bool writes() const { return alias.find('!') != std::string::npos; }
};

struct SchemaArgText {
  SchemaType type;
  std::string name;         // may be empty in a result
  bool keyword_only = false;
  bool has_default = false;
  std::string default_text; // as written: "1", "None", "[0, 1]", "\"none\""
};

template <class A>
struct SchemaOf {
  using Arg = A;
  std::string ns, name, overload;   // "aten", "add", "Tensor"
  std::vector<Arg> args, results;
  bool parenthesised_results = false;  // "-> (Tensor, Tensor)" and "-> ()" against "-> Tensor"
  bool variadic_args = false, variadic_results = false;  // a trailing "..."

  std::string qualified() const { return overload.empty() ? name : name + "." + overload; }  // "add.Tensor"
  int index_of(std::string_view arg) const {  // -1: no such argument
    for (std::size_t i = 0; i < args.size(); i++)
      if (args[i].name == arg) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace ingot
