// Every golden model that was exported with open sizes keeps them when it is traced again: no size
// is specialised, and the traced graph is right at the sizes of every stored case.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.hpp"
#include "check/compare.hpp"
#include "check/suite.hpp"
#include "check/zoo_weights.hpp"
#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "format/pt2/load.hpp"
#include "ingot/ingot.hpp"
#include "io/safetensors.hpp"
#include "op/call.hpp"
#include "tensor/random.hpp"

namespace ingot {
namespace {

// A value for each input of the program's graph: state as it is, user inputs as given.
Values graph_inputs(const Program& p, const TensorList& given) {
  Values values;
  std::size_t next = 0;
  for (const InputSpec& s : p.main().inputs) {
    if (s.node == nullptr) continue;
    if (s.kind == InputSpec::Kind::user) values.push_back(given.at(next++));
    else if (s.kind == InputSpec::Kind::token) values.push_back(make_tensor(Geometry::contiguous({0}, DType::f32)));
    else values.push_back(aten<"clone">(p.state.at(s.name).tensor));
  }
  return values;
}

// The sizes of the program's inputs that are not numbers, as the program calls them.
std::vector<OpenSize> open_sizes(const Program& p) {
  std::vector<OpenSize> open;
  for (std::size_t i = 0; i < p.main().graph.inputs().size(); i++) {
    const Value& meta = p.main().graph.inputs()[i]->meta;
    if (!meta.is_tensor()) continue;
    for (int d = 0; d < meta.tensor().dim(); d++) {
      const Int size = meta.tensor().size(d);
      if (size.is_number()) continue;
      OpenSize o{static_cast<int>(i), d, to_text(size)};
      if (const auto r = p.main().symbol_ranges.find(o.name); r != p.main().symbol_ranges.end()) {
        o.lo = r->second.min.value_or(o.lo);
        o.hi = r->second.max.value_or(o.hi);
      }
      open.push_back(std::move(o));
    }
  }
  return open;
}

TensorList stored_inputs(const std::string& data) {
  const SafeTensors file = SafeTensors::open(data);
  TensorList inputs;
  for (std::size_t i = 0; file.contains(text("in.", i)); i++) inputs.push_back(aten<"clone">(file.get(text("in.", i))));
  return inputs;
}

// What the graph gives, by itself and as the trace made it, is one thing.
void expect_same_results(const Graph& want, const Graph& got, const Program& p, const TensorList& inputs,
                         const std::string& what) {
  const auto run = [&](const Graph& g) {
    default_generator()->set_state({7, 0});
    return Interpreter(g).run(graph_inputs(p, inputs));
  };
  const Values a = run(got), b = run(want);
  // Memory that nobody wrote is whatever it is.
  const bool only_kind = std::any_of(want.nodes().begin(), want.nodes().end(),
                                     [](const auto& n) { return n->op && n->op->def->result.uninitialised; });
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t k = 0; k < a.size(); k++) {
    ASSERT_EQ(a[k].is_tensor(), b[k].is_tensor()) << what;
    if (a[k].is_tensor())
      EXPECT_EQ((only_kind ? compare_kind(a[k].tensor(), b[k].tensor()) : compare(a[k].tensor(), b[k].tensor(), {})).message, "")
          << what << ", output " << k;
    else EXPECT_EQ(to_text(a[k]), to_text(b[k])) << what << ", output " << k;
  }
}

// The program's graph, traced on the first stored inputs.
Traced retraced(const Program& p, const TensorList& inputs, const std::vector<OpenSize>& open) {
  const Interpreter program(p.main().graph);
  std::vector<Tree> example;
  for (const Value& v : graph_inputs(p, inputs)) example.push_back(v);
  Traced traced = trace(
      [&](const Tree& in) {
        Values values;
        for (const Tree& leaf : in.children()) values.push_back(leaf.leaf());
        std::vector<Tree> results;
        for (const Value& v : program.run(values)) results.push_back(v);
        return Tree::list(std::move(results));
      },
      Tree::list(std::move(example)), {.open = open});
  verify(traced.graph);
  return traced;
}

TEST(GoldenDynamic, EveryModelKeepsItsOpenSizes) {
  int models = 0;
  // What these need of their sizes beyond a range: whole blocks, pieces that differ.
  const std::map<std::string, std::size_t> conditions{
      {"wide/deformable", 9},      {"wide/experts_bf16", 1},        {"wide/image_sides", 2}, {"wide/scan_by_pairs", 6},
      {"wide/sizes_of_blocks", 1}, {"wide/sizes_of_the_export", 4}, {"wide/windows", 17}};
  const NoGrad no_grad;
  for (const Case& c : find_cases(INGOT_GOLDEN_DIR)) {
    if (c.kind != Case::Kind::model) continue;
    Program p = load_pt2(c.program);
    const std::vector<OpenSize> open = open_sizes(p);
    if (open.empty()) continue;
    if (!c.weights.empty()) supply_zoo_weights(p, read_zoo_weights(c.weights));
    models++;
    SCOPED_TRACE(c.name);
    Traced traced = retraced(p, stored_inputs(c.data.at(0)), open);
    RecordProperty(std::filesystem::path(c.name).filename().string(), traced.sizes.listing());
    for (const OpenSize& o : open)
      EXPECT_FALSE(traced.sizes.find(o.name) && traced.sizes.is_specialised(o.name)) << o.name << "\n" << traced.sizes.listing();
    // Their declared ranges say all there is to say, but for programs with conditions of their own.
    const auto own = conditions.find(c.name);
    EXPECT_EQ(traced.sizes.guards().size(), own == conditions.end() ? 0u : own->second) << traced.sizes.listing();
    for (const std::string& data : c.data) {
      const TensorList inputs = stored_inputs(data);
      EXPECT_EQ(traced.sizes.violation(graph_inputs(p, inputs)), "") << data;
      expect_same_results(p.main().graph, traced.graph, p, inputs, data);
    }
  }
  EXPECT_EQ(models, 26);
}

// Programs of single operators, with what the data decides left open. Only those refuse that take a
// number of their data for the number of results, and one whose own assertion its data breaks.
TEST(GoldenDynamic, EveryOperatorIsItsTrace) {
  int programs = 0;
  std::string refused;
  const NoGrad no_grad;
  for (const Case& c : find_cases(INGOT_GOLDEN_DIR)) {
    if (c.kind != Case::Kind::op) continue;
    SCOPED_TRACE(c.name);
    const Program p = load_pt2(c.program);
    try {
      const TensorList inputs = stored_inputs(c.data.at(0));
      const Traced traced = retraced(p, inputs, {});
      expect_same_results(p.main().graph, traced.graph, p, inputs, c.name);
      programs++;
    } catch (const UserError& e) {
      refused += text(c.entry, ": ", std::string_view(e.what()).substr(0, 40), "\n");
    }
  }
  EXPECT_EQ(programs, 3119);
  EXPECT_EQ(refused, "masked_select/f32_2: Runtime assertion failed for expression \n");
}

}  // namespace
}  // namespace ingot
