// ingot_generate TABLE HEADERS OUT: writes, of the schemas in TABLE (data/aten_schemas.tsv) and
// beside what the public headers in HEADERS declare by hand,
//   OUT/include/ingot/ops.hpp             a function for every op
//   OUT/include/ingot/tensor_methods.hpp  the methods among them, for the inside of class Tensor
//   OUT/generated/ops_K.cpp               their definitions
//   OUT/generated/functions.tsv           what became of each schema
// Files that would not change are not touched. function.hpp has the rules.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "generate/function.hpp"
#include "op/schema_parser.hpp"

namespace ingot {
namespace generate {
namespace {

namespace fs = std::filesystem;

constexpr int kFiles = 8;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  INGOT_REQUIRE(in, "cannot read ", path.string());
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

void write(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read(path) == text) return;
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << text;
  INGOT_REQUIRE(out.flush(), "cannot write ", path.string());
}

std::string parameters_of(const Function& f, bool declares) {
  std::string s;
  for (const Parameter& p : f.parameters) {
    s.append(s.empty() ? "" : ", ").append(p.type).append(" ").append(p.name);
    if (declares && p.has_default) s.append(" = ").append(p.default_text);
  }
  return "(" + s + ")";
}
bool is_const(const Function& f) { return f.is_method && f.written.empty(); }
std::string declaration(const Function& f) {
  return f.result + " " + f.name + parameters_of(f, true) + (is_const(f) ? " const" : "") + ";\n";
}

std::string definition(const Function& f, std::size_t slot) {
  std::string s =
      f.result + (f.is_method ? " Tensor::" : " ") + f.name + parameters_of(f, false) + (is_const(f) ? " const" : "") + " {\n";
  std::string values;
  for (std::size_t i = 0; i < f.values.size(); i++) {
    const bool is_self = f.is_method && i == 0;
    values.append(i ? ", " : "").append(is_self ? "*this" : f.values[i]);
  }
  const std::string run = "ops[" + std::to_string(slot) + "]({" + values + "})";
  if (!f.written.empty()) s += "  " + run + ";\n  return " + (f.is_method ? "*this" : f.written) + ";\n}\n";
  else if (f.unwrap.empty()) s += "  " + run + ";\n}\n";
  else if (f.unwrap[0] == '{') s += "  const Values each_result = list_elements(" + run + ");\n  return " + f.unwrap + ";\n}\n";
  else s += "  const Value result_ = " + run + ";\n  return " + f.unwrap + ";\n}\n";
  return s;
}

using Sets = std::map<std::string, std::vector<Function>>;

Sets sets_of(const std::vector<Function>& by_hand) {
  Sets sets;
  for (const Function& f : by_hand) sets[f.name].push_back(f);
  return sets;
}

// In the order of names, so that the files are the same every time.
std::vector<Function> generated(const Sets& sets) {
  std::vector<Function> all;
  for (const auto& [name, set] : sets)
    for (const Function& f : set)
      if (!f.op.empty()) all.push_back(f);
  return all;
}

constexpr const char* kMade = "// Written by ingot_generate from data/aten_schemas.tsv; do not edit.\n";

void write_definitions(const fs::path& out, const std::vector<Function>& all) {
  const std::size_t each = (all.size() + kFiles - 1) / kFiles;
  for (int k = 0; k < kFiles; k++) {
    const std::size_t from = std::min(all.size(), each * static_cast<std::size_t>(k)), to = std::min(all.size(), from + each);
    std::string names, free, members;
    for (std::size_t i = from; i < to; i++) {
      names += "    \"" + all[i].op + "\",\n";
      (all[i].is_method ? members : free) += definition(all[i], i - from);
    }
    write(out / "generated" / ("ops_" + std::to_string(k) + ".cpp"),
          std::string(kMade) +
              "#include \"ingot/ops.hpp\"\n#include \"ops/named_op.hpp\"\n\nnamespace ingot {\n\nstatic NamedOp ops[] = {\n" +
              names + "};\n\ninline namespace functions {\n\n" + free + "\n}  // namespace functions\n\n" + members +
              "\n}  // namespace ingot\n");
  }
}

void run(const fs::path& table, const fs::path& headers, const fs::path& out) {
  ByHand by_hand;
  std::vector<fs::path> files(fs::directory_iterator(headers / "ingot"), fs::directory_iterator{});
  std::sort(files.begin(), files.end());
  for (const fs::path& f : files)
    if (f.extension() == ".hpp") read_header(read(f), by_hand);
  Sets functions = sets_of(by_hand.functions), methods = sets_of(by_hand.methods);

  std::vector<Schema> schemas;
  std::istringstream lines(read(table));
  for (std::string line; std::getline(lines, line);)
    schemas.push_back(SchemaParser<Schema>(line.substr(0, line.find('\t'))).parse());
  // An overload that a plain bool would make the meaning of a number's comes after those with
  // numbers.
  std::stable_partition(schemas.begin(), schemas.end(), [](const Schema& s) {
    return s.args.size() < 2 || s.args[1].type.kind != Kind::boolean || s.args[1].type.optional || s.args[1].type.is_list();
  });
  std::map<std::string, std::string> outcomes;
  for (const Schema& s : schemas) {
    Made made = make_function(s);
    std::string as_function = made.left_out, as_method = "none";
    if (made.left_out.empty()) {
      as_function = add_overload(functions[made.function.name], made.function);
      if (has_method(s, made.function)) as_method = add_overload(methods[made.function.name], make_method(made.function));
    }
    const auto told = [](const std::string& why) { return why.empty() ? "yes" : why; };
    outcomes[s.ns + "::" + s.qualified()] = "\t" + told(as_function) + "\t" + told(as_method) + "\n";
  }
  std::string told;
  for (const auto& [op, outcome] : outcomes) told += op + outcome;
  write(out / "generated/functions.tsv", told);

  const std::vector<Function> free = generated(functions), members = generated(methods);
  std::string text = std::string(kMade) + R"(//
// A function for every op of ATen, beside those of ingot/ingot.hpp: the op's name, and the
// arguments and defaults of its schema. docs/cpp.md says how schemas are spelled in C++. A call of
// an op that Ingot has no rules for is a user error. The inner namespace, which is seen through,
// keeps them apart from what Ingot's own folders call by these names.
#pragma once
#include <limits>

#include "ingot/ingot.hpp"

namespace ingot {
inline namespace functions {

)";
  for (const Function& f : free) text += declaration(f);
  write(out / "include/ingot/ops.hpp", text + "\n}  // namespace functions\n}  // namespace ingot\n");
  text = std::string(kMade) + "// The methods of ops, for the inside of class Tensor.\n";
  for (const Function& f : members) text += "  " + declaration(f);
  write(out / "include/ingot/tensor_methods.hpp", text);
  std::vector<Function> all = free;
  all.insert(all.end(), members.begin(), members.end());
  write_definitions(out, all);
}

}  // namespace

}  // namespace generate

// Of a default the generator keeps the text alone, which ends at the ',' or ')' of the arguments.
void read_default(SchemaCursor& in, SchemaArgText& a) {
  const std::size_t start = in.position();
  int depth = 0;
  char quote = 0;
  for (; !in.at_end(); in.take()) {
    const char c = in.peek();
    if (quote) {
      if (c == '\\' && !in.at_end()) in.take();
      else if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (depth == 0 && (c == ',' || c == ')')) {
      break;
    } else {
      depth += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    }
  }
  a.default_text = in.since(start);
}

}  // namespace ingot

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: ingot_generate TABLE HEADERS OUT\n");
    return 2;
  }
  try {
    ingot::generate::run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ingot_generate: %s\n", e.what());
    return 1;
  }
}
