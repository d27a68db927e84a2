// The core op set of the ATen table is complete: every op has rules and samples, and no
// definition's schema differs from the table's.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "op/op.hpp"
#include "support/sample.hpp"

namespace ingot::testing {
namespace {

// Calls f(schema text, tags) for every line of the table.
template <class F>
void each_line(const F& f) {
  std::string_view rest = aten_schema_table();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto tab = line.find('\t');
    if (tab != std::string_view::npos) f(line.substr(0, tab), line.substr(tab + 1));
  }
}
bool has_tag(std::string_view tags, std::string_view tag) {
  while (!tags.empty()) {
    const std::string_view t = tags.substr(0, tags.find(' '));
    if (t == tag) return true;
    tags.remove_prefix(std::min(t.size() + 1, tags.size()));
  }
  return false;
}
std::vector<std::string> core_ops() {
  std::vector<std::string> v;
  each_line([&](std::string_view schema, std::string_view tags) {
    if (has_tag(tags, "core")) v.push_back(parse_schema(schema).qualified());
  });
  return v;
}

TEST(CoreOps, EveryOneHasRules) {
  const auto core = core_ops();
  EXPECT_EQ(core.size(), 193u);
  for (const std::string& name : core) EXPECT_NE(find_op(name), nullptr) << "no rules for the core op " << name;
}

TEST(CoreOps, EveryOneHasFiveSamplesAndAnOpenSize) {
  const auto folder = std::filesystem::path(INGOT_TEST_DATA).parent_path() / "samples";
  std::map<std::string, int> samples, open;
  for (const std::string& path : sample_files(folder.string()))
    for (const Sample& s : read_samples(path)) {
      samples[s.op_name]++;
      if (s.text.find('|') != std::string::npos && !s.has("nosym") && !s.has("nofake")) open[s.op_name]++;
    }
  // Without tensors of their own whose sizes could be open, or with sizes that depend on data.
  const std::set<std::string> closed = {"_local_scalar_dense", "nonzero"};
  for (const std::string& name : core_ops()) {
    EXPECT_GE(samples[name], 5) << "too few samples for the core op " << name;
    EXPECT_TRUE(closed.contains(name) || open[name] >= 1) << "no sample with an open size for the core op " << name;
  }
}

TEST(CoreOps, DefinitionsHaveTheTablesSchemas) {
  std::map<std::string, std::string> table;
  each_line([&](std::string_view schema, std::string_view) {
    if (schema.starts_with("aten::")) table[parse_schema(schema).qualified()] = schema;
  });
  for (const Op* o : all_ops()) {
    if (o->schema.ns != "aten") continue;
    ASSERT_TRUE(table.contains(o->name)) << o->name << " is not in the table";
    EXPECT_EQ(std::string(o->def->schema), table[o->name]);
  }
}

TEST(CoreOps, AQualifiedNameCarriesItsNamespaceOnce) {
  EXPECT_EQ(find_op("add.Tensor")->qualified(), "aten::add.Tensor");
  EXPECT_EQ(find_op("higher_order::cond")->qualified(), "higher_order::cond");
}

TEST(CoreOps, EveryDefinitionMakesItsResultsOneWay) {
  for (const Op* o : all_ops()) {
    const OpDef& d = *o->def;
    const int ways = (d.kernel != nullptr) + (d.body != nullptr) + (d.view.geometry != nullptr);
    // A node that is a program may have a kernel beside it for speed
    // (AttentionKernel.EqualsItsProgram).
    const bool both = d.kernel && d.body && !o->comes_apart() && !d.lower;
    EXPECT_EQ(ways, both ? 2 : 1) << o->name;
    EXPECT_EQ(d.kernel != nullptr, d.meta != nullptr) << o->name;
    EXPECT_EQ(d.form == Form::view, d.view.geometry != nullptr) << o->name;
    EXPECT_TRUE(d.form != Form::composite || (d.body && !d.vjp)) << o->name << ": a composite has a body and no vjp";
  }
}

}  // namespace
}  // namespace ingot::testing
