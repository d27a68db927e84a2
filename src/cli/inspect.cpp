// ingot inspect: what a program or a compiled model takes, returns and holds.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "cli/inspect_library.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"
#include "format/pt2/archive.hpp"
#include "format/pt2/load.hpp"
#include "format/pt2/program.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

struct InspectVerb {
  std::string file, model;
  bool json = false;
};

// Parameters, buffers or constants: how many, and how large.
struct Holding {
  std::size_t count = 0, missing = 0;  // missing: bytes are not in the file
  int64_t elements = 0, bytes = 0;
  std::set<std::string> entries;  // tied weights count once
};

struct Summary {
  Holding parameters, buffers, constants;
  std::map<std::string, std::size_t> ops;  // by target: calls
  std::size_t nodes = 0, subgraphs = 0;
};

void count_nodes(const Graph& g, Summary& s) {
  s.nodes += g.nodes().size() - g.inputs().size();
  for (const auto& n : g.nodes())
    if (n->kind == NodeKind::call) s.ops[n->op->qualified()]++;
    else if (n->kind == NodeKind::vmap) s.ops[std::string(target_of(n->vmap_call))]++;
    else if (n->kind == NodeKind::unsupported) s.ops[n->target]++;
  for (const auto& [name, a] : g.attributes)
    if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&a)) {
      s.subgraphs++;
      count_nodes(**inner, s);
    }
}

Summary summarise(const Program& p) {
  Summary s;
  count_nodes(p.main().graph, s);
  std::set<std::string> constants;
  for (const InputSpec& i : p.main().inputs)
    if (i.kind == InputSpec::Kind::constant) constants.insert(i.name);
  for (const auto& [name, e] : p.state) {
    Holding& h = e.is_parameter ? s.parameters : constants.contains(name) ? s.constants : s.buffers;
    h.count++;
    if (!h.entries.insert(e.entry).second) continue;
    int64_t n = 1;
    for (const Int size : e.sizes) n *= size.value();
    h.elements += n;
    h.bytes += n * size_of(e.dtype);
    h.missing += !e.tensor.defined();
  }
  return s;
}

// "f32[s0, 64]", "int", or the value of a constant.
std::string leaf_text(const Leaf& leaf) {
  if (leaf.is_constant) return text("= ", to_text(leaf.meta));
  if (leaf.meta.is_tensor()) return text(short_name_of(leaf.meta.tensor().dtype()), to_text(leaf.meta.tensor().sizes()));
  if (leaf.meta.is_none()) return "?";
  return leaf.meta.is_int() && leaf.meta.to_int().is_symbolic() ? text("int ", leaf.meta.to_int())
                                                                : std::string(leaf.meta.kind_name());
}

// Adds the symbols of an expression that are not there yet.
void add_symbols(const Expr& e, std::vector<std::string>& names) {
  if (e.op() == ExprOp::Sym && std::find(names.begin(), names.end(), e->name) == names.end()) names.push_back(e->name);
  for (const Expr& a : e.args()) add_symbols(a, names);
}

// The symbols of input sizes, in order of appearance.
std::vector<std::string> dynamic_symbols(const EntryPoint& e) {
  std::vector<std::string> names;
  const auto add = [&](const Int i) {
    if (i.is_symbolic()) add_symbols(i.expr(), names);
  };
  for (const Leaf& l : e.input_leaves()) {
    if (l.meta.is_tensor())
      for (const Int i : l.meta.tensor().sizes()) add(i);
    else if (l.meta.is_int()) add(l.meta.to_int());
  }
  return names;
}

std::string range_text(const SymbolRange& r) {
  return text("from ", r.min ? std::to_string(*r.min) : "-", " to ", r.max ? std::to_string(*r.max) : "any");
}

void write_leaves(JsonWriter& w, std::string_view key, const std::vector<Leaf>& leaves) {
  w.key(key).begin_list();
  for (const Leaf& l : leaves) w.begin_object().field("name", l.name).field("type", leaf_text(l)).end();
  w.end();
}

void write_holding(JsonWriter& w, std::string_view key, const Holding& h) {
  w.key(key)
      .begin_object()
      .field("count", h.count)
      .field("elements", h.elements)
      .field("bytes", h.bytes)
      .field("missing", h.missing)
      .end();
}

void print_json(const Pt2Program& read, const Summary& s) {
  const Program& p = read.program;
  const EntryPoint& e = p.main();
  JsonWriter w(true);
  w.begin_object()
      .field("file", p.name)
      .field("file_bytes", std::filesystem::file_size(p.name))
      .field("torch_version", read.facts.torch_version);
  write_leaves(w, "inputs", e.input_leaves());
  write_leaves(w, "outputs", e.result_leaves());
  w.key("dynamic").begin_list();
  for (const std::string& name : dynamic_symbols(e)) {
    w.begin_object().field("name", name);
    const auto it = e.symbol_ranges.find(name);
    const SymbolRange r = it == e.symbol_ranges.end() ? SymbolRange{} : it->second;
    r.min ? w.field("min", *r.min) : w.key("min").null();
    r.max ? w.field("max", *r.max) : w.key("max").null();
    w.end();
  }
  w.end();
  write_holding(w, "parameters", s.parameters);
  write_holding(w, "buffers", s.buffers);
  write_holding(w, "constants", s.constants);
  w.field("nodes", s.nodes).field("subgraphs", s.subgraphs).key("ops").begin_object();
  for (const auto& [op, n] : s.ops) w.field(op, n);
  w.end().key("unsupported").begin_list();
  for (const Node* n : e.unsupported_nodes()) w.value(n->target);
  w.end().key("warnings").begin_list();
  for (const std::string& warning : p.warnings) w.value(warning);
  std::cout << w.end().end().take() << '\n';
}

void print_leaves(std::string_view title, const std::vector<Leaf>& leaves) {
  std::cout << title << '\n';
  std::size_t width = 0;
  for (const Leaf& l : leaves) width = std::max(width, l.name.size());
  for (const Leaf& l : leaves) std::cout << "  " << l.name << std::string(width - l.name.size() + 2, ' ') << leaf_text(l) << '\n';
}

void print_holding(std::string_view title, const Holding& h) {
  if (h.count == 0) return;
  std::cout << title << h.count << " (" << h.elements << " elements, " << bytes_text(static_cast<uint64_t>(h.bytes)) << ")";
  if (h.missing > 0) std::cout << "; the file leaves " << h.missing << " of them out";
  std::cout << '\n';
}

void print_text(const Program& p, const Summary& s) {
  const EntryPoint& e = p.main();
  std::cout << p.name << ": exported program of " << p.producer << ", " << bytes_text(std::filesystem::file_size(p.name)) << '\n';
  print_leaves("inputs", e.input_leaves());
  print_leaves("outputs", e.result_leaves());
  const std::vector<std::string> dynamic = dynamic_symbols(e);
  if (!dynamic.empty()) std::cout << "dynamic sizes\n";
  for (const std::string& name : dynamic) {
    const auto it = e.symbol_ranges.find(name);
    std::cout << "  " << name << "  " << (it == e.symbol_ranges.end() ? "any" : range_text(it->second)) << '\n';
  }
  print_holding("parameters  ", s.parameters);
  print_holding("buffers     ", s.buffers);
  print_holding("constants   ", s.constants);
  std::cout << "graph       " << s.nodes << " nodes, " << s.ops.size() << " operators";
  if (s.subgraphs > 0) std::cout << ", " << s.subgraphs << " subgraphs";
  std::cout << '\n';
  std::vector<std::pair<std::size_t, std::string>> ops;
  for (const auto& [op, n] : s.ops) ops.emplace_back(n, op);
  std::stable_sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::set<std::string> unsupported;
  for (const Node* n : e.unsupported_nodes()) unsupported.insert(n->target);
  for (const auto& [n, op] : ops) std::printf("%6zu  %s%s\n", n, op.c_str(), unsupported.contains(op) ? "  (unsupported)" : "");
  for (const std::string& warning : p.warnings) std::cerr << "ingot: warning: " << warning << '\n';
}

// A package may hold both: then programs are shown, unless the name is that of a compiled model.
bool is_compiled(const InspectVerb& o) {
  if (!o.file.ends_with(".pt2")) return true;
  const Pt2Archive a = open_pt2_archive(o.file);
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), o.model) != names.end();
  };
  return o.model.empty() ? a.programs.empty() : has(a.compiled) && !has(a.programs);
}

}  // namespace

void add_inspect_verb(CLI::App& app) {
  auto options = std::make_shared<InspectVerb>();
  CLI::App* verb = app.add_subcommand("inspect", "show what a program or a compiled model takes, returns and holds");
  verb->add_option("file", options->file, "a .pt2 file, or a compiled model (.so), for any machine")->required();
  verb->add_option("--model", options->model, "the program's or model's name, where the file has several");
  verb->add_flag("--json", options->json, "print a JSON object");
  verb->footer("examples:\n  ingot inspect model.pt2\n  ingot inspect model.pt2 --json\n  ingot inspect model.so");
  verb->callback([options] {
    if (is_compiled(*options)) return inspect_compiled(options->file, options->model, options->json);
    const Pt2Program read = read_pt2(options->file, options->model);
    const Summary s = summarise(read.program);
    options->json ? print_json(read, s) : print_text(read.program, s);
  });
}

}  // namespace ingot
