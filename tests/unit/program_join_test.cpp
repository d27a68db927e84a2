// Several programs as one: what they have in common, and what only has the same name.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ingot/ingot.hpp"
#include "program/join.hpp"
#include "support/error_text.hpp"
#include "support/listed_program.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

using testing::listed_program;

std::vector<float> elements_of(const Value& v) { return v.tensor().to_vector<float>(); }

// A program of one entry point, which returns x times the state `n`.
Program times(const std::string& entry, const Tensor& n) {
  Program p = listed_program({{entry, R"(def forward(self, x, n):
    mul = torch.ops.aten.mul.Tensor(x, n);  x = n = None
    return (mul,)
)"}},
                             {{"n", n}});
  p.name = entry + ".pt2";
  return p;
}
// … which adds to it.
Program adds(const std::string& entry, const Tensor& n) {
  Program p = listed_program({{entry,
                               R"(def forward(self, n, x):
    add = torch.ops.aten.add.Tensor(n, x);  x = None
    return (add, n)
)",
                               {"n"}}},
                             {{"n", n}});
  p.name = entry + ".pt2";
  return p;
}

std::vector<Program> list_of(Program a, Program b) {
  std::vector<Program> l;
  l.push_back(std::move(a));
  l.push_back(std::move(b));
  return l;
}

// As files bring what a program has under a name that the exporter counted.
Program counted(Program p) {
  for (InputSpec& s : p.main().inputs)
    if (s.kind == InputSpec::Kind::buffer) s.kind = InputSpec::Kind::constant;
  return p;
}

Program left_out(Program p) {
  StateEntry& n = p.state.at("n");
  n.tensor = {};
  n.entry = "data/weights/weight_0";
  return p;
}

TEST(ProgramJoin, EntriesOfAllShareOneState) {
  Program p = join(list_of(adds("add", tensor({10.})), times("scale", tensor({10.}))));
  EXPECT_EQ(p.name, "add+scale");
  ASSERT_EQ(p.entries.size(), 2u);
  EXPECT_EQ(p.entries[1].from, "scale.pt2");
  (void)p.run(Values{tensor({5.})});
  EXPECT_EQ(elements_of(p.run(Values{tensor({2.})}, 1)[0]), std::vector<float>{30});
  EXPECT_EQ(p.state.size(), 1u);
}

TEST(ProgramJoin, OneStaysAsItIs) {
  std::vector<Program> one;
  one.push_back(times("scale", tensor({3.})));
  EXPECT_EQ(join(std::move(one)).name, "scale.pt2");
  EXPECT_EQ(error_of([] { (void)join({}); }), "join: expected at least one program");
}

TEST(ProgramJoin, StateOfOneNameIsTheSame) {
  const std::string differ =
      "entry point 'b': expected the state 'n' of the entry points before it, found another of that name (dtype, sizes, strides or "
      "elements differ); export all of them from one module";
  EXPECT_EQ(error_of([] { (void)join(list_of(times("a", tensor({1.})), times("b", tensor({2.})))); }), differ);
  EXPECT_EQ(error_of([] { (void)join(list_of(times("a", tensor({1.})), times("b", tensor({1., 1})))); }), differ);
  EXPECT_EQ(error_of([] { (void)join(list_of(times("a", tensor({1.})), times("b", tensor({1.}).to(float64)))); }), differ);
}

TEST(ProgramJoin, WhatExportersCountIsToldApart) {
  Program other = join(list_of(times("a", tensor({1.})), counted(times("b", tensor({2.})))));
  EXPECT_EQ(other.state.size(), 2u);
  EXPECT_EQ(elements_of(other.run(Values{tensor({10.})}, 0)[0]), std::vector<float>{10});
  EXPECT_EQ(elements_of(other.run(Values{tensor({10.})}, 1)[0]), std::vector<float>{20});
  EXPECT_TRUE(other.state.contains("b.n"));
  EXPECT_EQ(join(list_of(counted(times("a", tensor({1.}))), counted(times("b", tensor({1.}))))).state.size(), 1u);
}

TEST(ProgramJoin, BytesThatOneFileLeavesOutAreAnothers) {
  Program p = join(list_of(left_out(times("a", tensor({4.}))), times("b", tensor({4.}))));
  EXPECT_EQ(elements_of(p.run(Values{tensor({2.})})[0]), std::vector<float>{8});
  // Two files may call different bytes alike.
  Program m = times("b", tensor({4.}));
  m.state["m"] = m.state.extract("n").mapped();
  m.main().inputs[1].name = "m";
  m.state.at("m").tensor = {};
  m.state.at("m").entry = "data/weights/weight_0";
  Program both = join(list_of(left_out(times("a", tensor({4.}))), std::move(m)));
  both.supply("n", tensor({3.}));
  EXPECT_FALSE(both.state.at("m").tensor.defined());
}

// One program knows two names as parts of a storage, the other has one of them alone.
TEST(ProgramJoin, KeepsTheStorageThatIsShared) {
  const Tensor whole = arange(4).to(float32);
  Program alone = times("alone", whole.slice(0, 0, 2).clone());
  Program parts = times("parts", whole.slice(0, 0, 2));
  parts.state["rest"] = parts.state.at("n");
  parts.state.at("rest").tensor = whole.slice(0, 1, 3);
  const Program p = join(list_of(std::move(alone), std::move(parts)));
  EXPECT_EQ(p.state.at("n").tensor->storage, p.state.at("rest").tensor->storage);
}

}  // namespace
}  // namespace ingot
