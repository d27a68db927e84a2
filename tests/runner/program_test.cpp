// What a program writes to its state, and its entry points, in the library that it is compiled to.
#include "runner_fixture.hpp"
#include "support/listed_program.hpp"

namespace ingot {
namespace {

using testing::listed_program;

std::vector<float> floats(const Value& v) { return v.tensor().to_vector<float>(); }

// Two buffers, or parameters, change places, and the result is one of them as it was: everything
// was computed before the first write (P146).
Program swap(bool parameters) {
  Program p = listed_program({{"swap",
                               R"(class <lambda>(torch.nn.Module):
    def forward(self, a: "f32[2]", b: "f32[2]", x: "f32[2]"):
        view: "f32[2]" = torch.ops.aten.view.default(a, [2])
        add: "f32[2]" = torch.ops.aten.add.Tensor(view, x);  x = None
        return (b, a, view, add)
)",
                               {"a", "b"}}},
                             {{"a", tensor({1., 2})}, {"b", tensor({3., 4})}});
  if (!parameters) return p;
  for (std::size_t k = 0; k < 2; k++) {
    p.main().inputs[k].kind = InputSpec::Kind::parameter;
    p.main().outputs[k].kind = OutputSpec::Kind::parameter_mutation;
  }
  for (auto& [name, state] : p.state) state.is_parameter = true;
  p.prepare();
  return p;
}

TEST(CompiledPrograms, P146_WritesComeAfterAllOutputs) {
  for (const bool parameters : {false, true}) {
    SCOPED_TRACE(parameters ? "parameters" : "buffers");
    Program eager = swap(parameters), program = swap(parameters);
    const Tensor x = tensor({10., 20});
    const Values want = eager.run(Values{x});
    const CompiledProgram compiled(program);
    const Values got = compiled.run(program, Values{x});
    ASSERT_EQ(got.size(), 2u);
    for (std::size_t k = 0; k < 2; k++) EXPECT_EQ(floats(got[k]), floats(want[k])) << k;
    EXPECT_EQ(floats(got[0]), (std::vector<float>{1, 2}));
    for (const char* name : {"a", "b"})
      EXPECT_EQ(floats(program.state.at(name).tensor), floats(eager.state.at(name).tensor)) << name;
    EXPECT_EQ(floats(program.state.at("a").tensor), (std::vector<float>{3, 4}));
  }
}

class CompiledEntries : public RunnerTest {};

// One program with two entry points becomes one library with both.
TEST_F(CompiledEntries, OfOneProgram) {
  const char* const step = R"(class <lambda>(torch.nn.Module):
    def forward(self, n: "f32[1]", x: "f32[1]"):
        add: "f32[1]" = torch.ops.aten.add.Tensor(n, x);  x = None
        return (add, n)
)";
  const char* const scaled = R"(class <lambda>(torch.nn.Module):
    def forward(self, x: "f32[1]", n: "f32[1]"):
        mul: "f32[1]" = torch.ops.aten.mul.Tensor(x, n);  x = n = None
        return (mul,)
)";
  Program program = listed_program({{"step", step, {"n"}}, {"read", scaled}}, {{"n", tensor({10.})}});
  compile(program, path("counter.so"));
  ModelContainerRunner first(path("counter.so"));
  ModelContainerRunner second(first, "read");
  EXPECT_EQ(floats(first.run({tensor({1.})})[0]), std::vector<float>{10});
  EXPECT_EQ(floats(second.run({tensor({2.})})[0]), std::vector<float>{22});
  EXPECT_EQ(floats(first.run({tensor({5.})})[0]), std::vector<float>{11});
  EXPECT_EQ(floats(second.run({tensor({1.})})[0]), std::vector<float>{16});
}

}  // namespace
}  // namespace ingot
