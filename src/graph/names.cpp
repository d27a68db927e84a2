#include "graph/names.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

namespace ingot {

namespace {

// Python's keywords, the names of its module `builtins`, and what FX brings into the scope of every
// graph (`self` too: the text of a graph fetches attributes from it). Sorted by byte.
// clang-format off
constexpr std::string_view kTaken[] = {
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "BaseExceptionGroup", "BlockingIOError",
    "BrokenPipeError", "BufferError", "BytesWarning", "ChildProcessError", "ConnectionAbortedError", "ConnectionError",
    "ConnectionRefusedError", "ConnectionResetError", "DeprecationWarning", "EOFError", "Ellipsis", "EncodingWarning",
    "EnvironmentError", "Exception", "ExceptionGroup", "False", "FileExistsError", "FileNotFoundError",
    "FloatingPointError", "FutureWarning", "GeneratorExit", "IOError", "ImportError", "ImportWarning",
    "IndentationError", "IndexError", "InterruptedError", "IsADirectoryError", "KeyError", "KeyboardInterrupt",
    "LookupError", "MemoryError", "ModuleNotFoundError", "NameError", "None", "NoneType", "NotADirectoryError",
    "NotImplemented", "NotImplementedError", "OSError", "OverflowError", "PendingDeprecationWarning", "PermissionError",
    "ProcessLookupError", "RecursionError", "ReferenceError", "ResourceWarning", "RuntimeError", "RuntimeWarning",
    "StopAsyncIteration", "StopIteration", "SyntaxError", "SyntaxWarning", "SystemError", "SystemExit", "TabError",
    "TimeoutError", "True", "TypeError", "UnboundLocalError", "UnicodeDecodeError", "UnicodeEncodeError",
    "UnicodeError", "UnicodeTranslateError", "UnicodeWarning", "UserWarning", "ValueError", "Warning",
    "ZeroDivisionError", "__build_class__", "__debug__", "__doc__", "__import__", "__loader__", "__name__",
    "__package__", "__spec__", "abs", "aiter", "all", "and", "anext", "any", "as", "ascii", "assert", "async", "await",
    "bin", "bool", "break", "breakpoint", "bytearray", "bytes", "callable", "chr", "class", "classmethod", "compile",
    "complex", "continue", "copyright", "credits", "def", "del", "delattr", "device", "dict", "dir", "divmod", "elif",
    "else", "enumerate", "eval", "except", "exec", "exit", "filter", "finally", "float", "for", "format", "from",
    "frozenset", "fx_pytree", "getattr", "global", "globals", "hasattr", "hash", "help", "hex", "id", "if", "import",
    "in", "inf", "input", "int", "is", "isinstance", "issubclass", "iter", "lambda", "len", "license", "list", "locals",
    "map", "max", "memoryview", "min", "nan", "next", "nonlocal", "not", "object", "oct", "open", "or", "ord", "pass",
    "pow", "print", "property", "pytree", "quit", "raise", "range", "repr", "return", "reversed", "round", "self",
    "set", "setattr", "slice", "sorted", "staticmethod", "str", "sum", "super", "torch", "try", "tuple", "type", "vars",
    "while", "with", "yield", "zip"};
// clang-format on
static_assert(std::is_sorted(std::begin(kTaken), std::end(kTaken)));

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool may_stand_in_name(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string legal(std::string_view wish) {
  std::string s(wish);
  std::replace_if(s.begin(), s.end(), [](char c) { return !may_stand_in_name(c); }, '_');
  if (s.empty()) return "_unnamed";
  return is_digit(s[0]) ? "_" + s : s;
}

// "add_12" is add and 12; "add" and "add_" have no number.
struct Split {
  std::string_view base;
  int64_t number = -1;
};
Split split(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) digits--;
  if (digits == name.size() || digits < 2 || name[digits - 1] != '_') return {name};
  Split s{name.substr(0, digits - 1)};
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), s.number);
  // A number beyond 64 bits, or that no other can follow, is part of the name.
  if (error != std::errc() || s.number == std::numeric_limits<int64_t>::max()) return {name};
  return s;
}

}  // namespace

bool is_identifier(std::string_view s) {
  return !s.empty() && !is_digit(s[0]) && std::all_of(s.begin(), s.end(), may_stand_in_name);
}
bool is_reserved(std::string_view name) { return std::binary_search(std::begin(kTaken), std::end(kTaken), name); }

// The first suffix beyond `after` that no name with this base has.
int64_t NodeNames::next_free(const std::string& base, int64_t after) const {
  const auto runs = runs_.find(base);
  if (runs == runs_.end()) return after + 1;
  const auto next = runs->second.upper_bound(after + 1);
  if (next == runs->second.begin()) return after + 1;
  return std::max(after, std::prev(next)->second) + 1;
}

void NodeNames::use(const std::string& name) {
  used_.insert(name);
  const auto [base, number] = split(name);
  if (number < 0 || name.size() != base.size() + 1 + std::to_string(number).size()) return;  // add_007 is no suffix 7
  Runs& runs = runs_[std::string(base)];
  const auto next = runs.upper_bound(number);
  const bool joins_next = next != runs.end() && next->first == number + 1;
  const int64_t last = joins_next ? next->second : number;
  if (joins_next) runs.erase(next);
  const auto after = runs.upper_bound(number);
  if (after != runs.begin() && std::prev(after)->second == number - 1) std::prev(after)->second = last;
  else runs[number] = last;
}

// FX's _Namespace.create_name, step for step: its quirks (which counter a taken name continues)
// show in listings.
std::string NodeNames::unique(std::string_view wish) {
  std::string name = legal(wish);
  const Split parts = split(name);
  const std::string base(parts.base);
  int64_t number = parts.number;
  if (number < 0 || used_.contains(name)) {
    const auto count = counts_.find(name);
    number = count == counts_.end() ? 0 : count->second;
    if (is_reserved(name)) name = base + "_" + std::to_string(++number);
  }
  if (used_.contains(name)) {
    number = next_free(base, number);
    name = base + "_" + std::to_string(number);
  }
  use(name);
  counts_[base] = number;
  return name;
}

}  // namespace ingot
