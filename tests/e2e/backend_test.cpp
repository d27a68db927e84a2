// What the compiler asks of a backend, asked here.
#include "backend/backend.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>

#include "backend/cpu/microkernel.hpp"
#include "base/error.hpp"
#include "codegen/link.hpp"
#include "codegen/rename_symbols.hpp"
#include "compiler/constants.hpp"
#include "e2e/compiled_model.hpp"
#include "ingot/ingot.hpp"
#include "loop/text.hpp"
#include "model/programs/fake_device.h"

namespace ingot {
namespace {

using loop::Product;
using loop::ProductTypes;

constexpr ProductTypes kFloat{DType::f32, DType::f32, DType::f32};

const Product* product_of(const loop::Program& p) {
  for (const loop::Step& s : p.steps)
    if (const auto* k = std::get_if<loop::Kernel>(&s); k && k->product) return &*k->product;
  return nullptr;
}

// A matrix product of elements of one type, summed in another.
loop::Program scheduled_product(const char* cpu, std::string_view element, std::string_view sums) {
  const auto factor = [&](const char* load) { return element == sums ? text(load) : text("cast(", sums, ", ", load, ")"); };
  loop::Program p = loop::parse_program(text(
      "program main()\n  input x: ", element, "[64, 32]\n  input w: ", element, "[32, 48]\n  output mm: ", sums, "[64, 48]\n",
      "  mm[i0 < 64, i1 < 48] = %0 where %0 = sum(i2 < 32) ", factor("x[i0, i2]"), "*", factor("w[i2, i1]"), "\n"));
  const Target target = parse_target("x86_64", cpu);
  backend_of(target).schedule(p, target);
  EXPECT_TRUE(same(loop::parse_program(to_text(p)), p)) << to_text(p);
  return p;
}

using Microkernels = std::vector<cpu::Microkernel>;

TEST(Backend, MicrokernelsAreByTypeAndProcessor) {
  const auto of = [](const Target& target) { return of_types(cpu::microkernels(target), kFloat); };
  EXPECT_EQ(
      of(parse_target("aarch64")),
      (Microkernels{{"fma.8x12", kFloat, 8, 12}, {"fma.12x8", kFloat, 12, 8, 1, 102}, {"fma.6x16", kFloat, 6, 16, 1, 108}}));
  EXPECT_EQ(of(parse_target("x86_64", "x86-64-v4")),
            (Microkernels{{"fma.12x32", kFloat, 12, 32}, {"fma.8x48", kFloat, 8, 48, 1, 108}}));
  EXPECT_EQ(of(parse_target("x86_64", "x86-64-v3")),
            (Microkernels{{"fma.6x16", kFloat, 6, 16}, {"fma.4x24", kFloat, 4, 24, 1, 108}}));
  EXPECT_EQ(of(parse_target("x86_64")), (Microkernels{{"mul_add.4x8", kFloat, 4, 8}}));
  for (const ProductTypes& none : {ProductTypes{DType::bf16, DType::bf16, DType::f32},
                                   {DType::u8, DType::i8, DType::i32},
                                   {DType::f32, DType::f32, DType::f64},
                                   {DType::f64, DType::f64, DType::f64}})
    EXPECT_TRUE(of_types(cpu::microkernels(native_target()), none).empty());
}

TEST(Backend, ARowOfTheTableIsForTypesAProcessorAndAGroupOfK) {
  constexpr ProductTypes kHalf{DType::bf16, DType::bf16, DType::f32}, kBytes{DType::u8, DType::i8, DType::i32},
      kDouble{DType::f64, DType::f64, DType::f64};
  const cpu::MicrokernelRow table[] = {
      {"dot2", kHalf, 2, Arch::x86_64, "avx512bf16", {{12, 2}}},
      {"dot4", kBytes, 4, Arch::x86_64, "avx512vnni", {{12, 2}, {8, 3}}},
      {"dot4_of_pairs", kBytes, 2, Arch::x86_64, "avx2", {{6, 2}}},
      {"fma", kFloat, 1, Arch::x86_64, "fma", {{6, 2}}},
      {"sdot", kBytes, 4, Arch::aarch64, "", {{8, 3}}},
      {"fma", kDouble, 1, Arch::aarch64, "", {{8, 3}}},
  };
  const auto of = [&](const Target& target, const ProductTypes& types) {
    return of_types(cpu::microkernels(target, table), types);
  };
  const Target v3 = parse_target("x86_64", "x86-64-v3"), v4 = parse_target("x86_64", "x86-64-v4"),
               rapids = parse_target("x86_64", "sapphirerapids"), arm = parse_target("aarch64");
  EXPECT_EQ(of(rapids, kHalf), (Microkernels{{"dot2.12x32", kHalf, 12, 32, 2}}));
  EXPECT_EQ(of(rapids, kBytes), (Microkernels{{"dot4.12x32", kBytes, 12, 32, 4}, {"dot4.8x48", kBytes, 8, 48, 4}}));
  EXPECT_EQ(of(v3, kBytes), (Microkernels{{"dot4_of_pairs.6x16", kBytes, 6, 16, 2}}));
  EXPECT_EQ(of(v3, kFloat), (Microkernels{{"fma.6x16", kFloat, 6, 16, 1}}));
  EXPECT_EQ(of(arm, kBytes), (Microkernels{{"sdot.8x12", kBytes, 8, 12, 4}}));
  EXPECT_EQ(of(arm, kDouble), (Microkernels{{"fma.8x6", kDouble, 8, 6, 1}}));
  EXPECT_TRUE(of(v3, kHalf).empty());
  EXPECT_TRUE(of(v4, kHalf).empty());
  EXPECT_TRUE(of(v4, kDouble).empty());
  EXPECT_TRUE(of(arm, kFloat).empty());
  EXPECT_TRUE(of(parse_target("x86_64"), kFloat).empty());
}

TEST(Backend, ContractionsAskForAMicrokernel) {
  for (const auto& [cpu, name] : {std::pair{"x86-64-v3", "fma.6x16"}, std::pair{"x86-64", "mul_add.4x8"}})
    for (const char* element : {"f32", "bf16"}) { // what is wider in the sum is multiplied as such
      const loop::Program p = scheduled_product(cpu, element, "f32");
      const Product* x = product_of(p);
      ASSERT_TRUE(x) << to_text(p);
      EXPECT_EQ(x->types, kFloat);
      EXPECT_EQ(x->microkernel, name) << to_text(p);
      EXPECT_FALSE(backend_of(parse_target("x86_64", cpu)).why_no_code(*x, parse_target("x86_64", cpu))) << to_text(p);
    }
}

TEST(Backend, ATargetThatNoneIsForIsAUserError) {
  EXPECT_NO_THROW(backend_of(native_target()));
  EXPECT_THROW(backend_of({"nvptx64-nvidia-cuda", "sm_90a", ""}), UserError) << "it is no processor";
}

TEST(Backend, WithoutAMicrokernelLoopsMakeTheSums) {
  for (const auto& [element, sums] : {std::pair{"f64", "f64"}, std::pair{"i32", "i32"}, std::pair{"i8", "i32"}}) {
    const loop::Program p = scheduled_product("x86-64-v3", element, sums);
    EXPECT_FALSE(product_of(p));
    ASSERT_EQ(p.steps.size(), 1u) << to_text(p);
    EXPECT_TRUE(std::holds_alternative<loop::Kernel>(p.steps[0]));
  }
}

// A kernel as for another machine: blocks in any order, what they share in
// scratch memory, threads side by side. It is a loop program as any other, so
// that it runs here.
constexpr std::string_view kTransposed = R"loop(program main(s0 >= 1)
  input x: f32[s0, 32]
  output t: f32[32, s0]
  scratch shared: f32[8, 8] at 0
  kernel t parallel i0 < (s0 + 7) // 8, i1 < 4 scratch 256
    for i2 < min(8, s0 - 8*i0), i3 < 8: shared[8*i2 + i3] = x[256*i0 + 32*i2 + 8*i1 + i3]
    for i4 < 8, i5 < min(8, s0 - 8*i0): t[8*i1*s0 + i4*s0 + 8*i0 + i5] = shared[8*i5 + i4]
)loop";

class BackendRun : public CompiledModel {
 protected:
  // A model of one program, scheduled or not, as text. Its inputs and outputs are called x and y.
  static Model model_of(std::string_view program) {
    const Target target = native_target();
    const Backend& backend = backend_of(target);
    Model model;
    Model::Entry entry;
    entry.inputs.push_back({"x", false, false});
    entry.outputs.push_back("y");
    model.entries.push_back(std::move(entry));
    model.levels.push_back(backend.level_for(target));
    model.levels[0].codes.push_back({loop::parse_program(program), {}});
    return model;
  }
  // The library, of these objects, what is made of the model, and its archives.
  std::string link(const Model& model, const std::string& name, std::vector<Object> objects, CodeText* code = nullptr) const {
    const Model::Level& level = model.levels[0];
    for (Object& o : backend_of(level.target).generate_code(model, 0, code)) objects.push_back(std::move(o));
    objects.push_back(generate_table(model));
    link_library(objects, level.host, path(name), {}, level.archives);
    return path(name);
  }
};

TEST_F(BackendRun, TakesAKernelThatIsAText) {
  CodeText code;
  ModelContainerRunner runner(link(model_of(kTransposed), "t.so", {}, &code));
  EXPECT_NE(code.llvm.find("kernel.0.0.t"), std::string::npos);
  for (const int64_t n : {1, 8, 21}) {
    const Tensor x = randn({n, 32});
    const TensorList out = runner.run({x});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].to_vector<float>(), x.t().contiguous().to_vector<float>());
  }
}

// The table of the fake device, as a backend's archive would define it. The host of this process
// has tensors of the CPU alone, so that the device's are called so; its functions are this
// process's.
constexpr const char* kDeviceTable = "ingot_fake_device";
Object device_table(const Target& target) {
  const auto address = [](auto* function) {
    return text("ptr inttoptr (i64 ", reinterpret_cast<std::uintptr_t>(function), " to ptr)");
  };
  return emit_text(
      "device.ll",
      text("@name = private constant [5 x i8] c\"cuda\\00\"\n@", kDeviceTable,
           " = hidden constant { ptr, i32, ptr, ptr, ptr, ptr } { ptr @name, i32 0, ", address(fake_device.allocate), ", ",
           address(fake_device.release), ", ", address(fake_device.copy), ", ", address(fake_device.synchronize), " }\n"),
      target);
}

constexpr std::string_view kScaled = R"loop(program main(s0 >= 1)
  constant w: f32[4]
  input x: f32[s0, 4]
  output y: f32[s0, 4]
  kernel y parallel i0 < s0
    for i1 < 4: y[4*i0 + i1] = w[i1]*x[4*i0 + i1]
)loop";

class BackendDevice : public BackendRun {
 protected:
  BackendDevice() : model(model_of(kScaled)) {
    model.entries[0].constants = {0};
    Model::Constant& c = model.constants.emplace_back();
    c.name = c.fqn = "w";
    c.sizes = {4};
    c.strides = {1};
    c.bytes = 16;
    c.kind = 1;
  }
  std::vector<Object> weights() {
    std::vector<DataPart> none;
    return {lay_out_constants(model, {w}, Model::Weights::Kind::embedded, nullptr, none)};
  }

  Model model;
  const Tensor w = tensor({1.0, 2.0, 3.0, 4.0});
};

TEST_F(BackendDevice, ALibraryIsForTheOneThatItsLevelsName) {
  ASSERT_EQ(model.levels[0].device_table, "") << "the CPU";
  model.levels[0].device_table = kDeviceTable;
  std::vector<Object> objects = weights();
  objects.push_back(device_table(model.levels[0].target));
  const std::string library = link(model, "scaled.so", std::move(objects));
  const ingot_test_device_record before = ingot_test_device;
  {
    ModelContainerRunner runner(library, {.device = "cuda:3"});
    EXPECT_EQ(ingot_test_device.copies[INGOT_COPY_TO_DEVICE], before.copies[INGOT_COPY_TO_DEVICE] + 1) << "its constant";
    EXPECT_EQ(ingot_test_device.live, 1);
    const Tensor x = randn({5, 4});
    EXPECT_EQ(runner.run({x}).at(0).to_vector<float>(), (x * w).to_vector<float>());
    EXPECT_EQ(ingot_test_device.index, 3);
  }
  EXPECT_EQ(ingot_test_device.live, 0);
  EXPECT_EQ(ingot_test_device.wrong_releases, 0);
  try {
    ModelContainerRunner runner(library);
    ADD_FAILURE() << "a container for the CPU";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("expected cuda, which this library was compiled for, found cpu"), std::string::npos)
        << e.what();
  }
}

TEST_F(BackendDevice, ItsTableMayLieInAnArchive) {
  model.levels[0].device_table = kDeviceTable;
  model.levels[0].archives = {path("libdevice.a")};
  std::ofstream(path("libdevice.a"), std::ios::binary) << archive_of(device_table(model.levels[0].host));
  ModelContainerRunner runner(link(model, "archived.so", weights()), {.device = "cuda:1"});
  const Tensor x = randn({3, 4});
  EXPECT_EQ(runner.run({x}).at(0).to_vector<float>(), (x * w).to_vector<float>());
}

TEST_F(BackendDevice, WithoutItsTableThereIsNoLibrary) {
  model.levels[0].device_table = kDeviceTable;
  try {
    link(model, "none.so", weights());
    ADD_FAILURE() << "a library without its device";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find(kDeviceTable), std::string::npos) << e.what();
  }
  model.levels.push_back(model.levels[0]);
  model.levels[1].device_table = "";
  EXPECT_THROW(generate_table(model), InternalError);
  model.levels[1].device_table = kDeviceTable;
  model.levels[1].archives = {"libdevice.a"};
  EXPECT_THROW(generate_table(model), InternalError);
}

TEST_F(BackendDevice, ConstantsSayWhoseMemoryTheyAreFor) {
  model.constants[0].device = 1;
  const std::string library = link(model, "mixed.so", weights());
  try {
    ModelContainerRunner runner(library);
    ADD_FAILURE() << "a constant of another device in a library for the CPU";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("Constant 'w' was compiled for a non-CPU device"), std::string::npos) << e.what();
  }
}

} // namespace
} // namespace ingot
