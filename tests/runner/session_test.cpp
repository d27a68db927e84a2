// The deployer's C interface (ingot/ingot.h).
#include "ingot/ingot.h"

#include <dlfcn.h>

#include <cstring>
#include <type_traits>

#include "host/session.hpp"
#include "ingot/dlpack.hpp"
#include "ingot/session.hpp"
#include "programs/stub.h"
#include "runner_fixture.hpp"

namespace ingot {
namespace {

class SessionTest : public RunnerTest {
 protected:
  ~SessionTest() override { ingot_session_close(session_); }
  ingot_session* open(const std::string& file, const ingot_options* options = nullptr) {
    ingot_session_close(session_);
    session_ = nullptr;
    EXPECT_EQ(ingot_session_open(file.c_str(), options, &session_), INGOT_OK) << ingot_error();
    return session_;
  }

 private:
  ingot_session* session_ = nullptr;
};

// A tensor as DLPack has it, over the elements of `t`.
struct View {
  explicit View(const Tensor& t) : managed(to_dlpack_versioned(t)) {}
  ~View() { managed->deleter(managed); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  operator const DLTensor*() const { return &managed->dl_tensor; }
  DLManagedTensorVersioned* managed;
};

// One program may have both: what was called alike would be one of them in all of it.
TEST_F(SessionTest, TheClassOfProgramsIsNotTheHostsOwn) {
  static_assert(!std::is_same_v<Session, EntrySession>);
  const Session of_program(mlp());
  EXPECT_EQ(of_program.inputs().size(), 1u);
  EXPECT_EQ(of_program.outputs().size(), 1u);
}

TEST_F(SessionTest, DescribesTheModel) {
  ingot_session* s = open(mlp());
  ASSERT_EQ(ingot_session_input_count(s), 1u);
  ASSERT_EQ(ingot_session_output_count(s), 1u);
  ASSERT_EQ(ingot_session_symbol_count(s), 1u);
  ingot_value value;
  ingot_symbol_info symbol;
  const char* level = nullptr;
  EXPECT_EQ(ingot_session_input(s, 0, &value), INGOT_OK);
  EXPECT_EQ(value.rank, 2);
  EXPECT_STREQ(value.sizes[1], "64");
  EXPECT_EQ(value.dtype.code, kDLFloat);
  EXPECT_EQ(value.dtype.bits, 32);
  EXPECT_EQ(ingot_session_symbol(s, 0, &symbol), INGOT_OK);
  EXPECT_STREQ(symbol.name, value.sizes[0]);
  EXPECT_EQ(symbol.max, 4096);
  EXPECT_EQ(ingot_session_level_used(s, &level), INGOT_OK);
  EXPECT_STRNE(level, "");
  EXPECT_EQ(ingot_session_input(s, 1, &value), INGOT_INVALID);
  expect_in("input 1: there are 1", ingot_error());
  EXPECT_STRNE(ingot_version(), "");
}

// A library of AOTInductor's kind, which says of its inputs and outputs what they are called, and
// returns one handle twice.
TEST_F(SessionTest, I098_AModelOfAnotherCompiler) {
  ingot_session* s = open(std::string(INGOT_STUB_DIR) + "/stub_torch.so");
  ASSERT_EQ(ingot_session_input_count(s), 1u);
  ASSERT_EQ(ingot_session_output_count(s), 4u);
  EXPECT_EQ(ingot_session_symbol_count(s), 0u);
  ingot_value value;
  ASSERT_EQ(ingot_session_input(s, 0, &value), INGOT_OK);
  EXPECT_STREQ(value.name, "arg0_1");
  EXPECT_EQ(value.rank, -1);
  ASSERT_EQ(ingot_session_output(s, 3, &value), INGOT_OK);
  EXPECT_STREQ(value.name, "output3");
  EXPECT_EQ(ingot_session_output(s, 4, &value), INGOT_INVALID);
  expect_in("output 4: there are 4", ingot_error());
  EXPECT_EQ(ingot_session_set_threads(s, 2), INGOT_INVALID);
  expect_in("was not made by Ingot", ingot_error());

  const Tensor given = mlp_input();
  const View x(given);
  const DLTensor* in[] = {x};
  DLManagedTensorVersioned* out[4] = {};
  ASSERT_EQ(ingot_session_run(s, in, 1, out, 4), INGOT_OK) << ingot_error();
  EXPECT_EQ(out[0], nullptr);
  for (int k = 1; k < 4; k++) expect_close(from_dlpack(out[k]), given);

  ingot_constant_info constant;
  ASSERT_EQ(ingot_session_constant_count(s), 1u);
  ASSERT_EQ(ingot_session_constant(s, 0, &constant), INGOT_OK);
  EXPECT_STREQ(constant.name, "layer.w");
  EXPECT_FALSE(constant.is_folded);
  const ingot_named_tensor update{"layer.w", x};
  EXPECT_EQ(ingot_session_update(s, &update, 1, true, false), INGOT_OK) << ingot_error();
  EXPECT_EQ(ingot_session_fold(s, true), INGOT_OK) << ingot_error();
  EXPECT_EQ(ingot_session_swap(s), INGOT_OK) << ingot_error();
  EXPECT_EQ(ingot_session_free_inactive(s), INGOT_OK) << ingot_error();
  EXPECT_EQ(ingot_session_get_constant(s, "layer.w", false, out), INGOT_INVALID);
  expect_in("constant 'layer.w' has no value in that buffer", ingot_error());
}

// One that lacks what came later, and does not say why a call failed.
TEST_F(SessionTest, FunctionsThatCameLaterFailWhenTheyAreUsed) {
  const std::string file = std::string(INGOT_STUB_DIR) + "/stub_old.so";
  ingot_session* s = open(file);
  EXPECT_EQ(ingot_session_free_inactive(s), INGOT_INVALID);
  EXPECT_STREQ(ingot_error(), "the library has no function AOTInductorModelContainerFreeInactiveConstantBuffer");
  DLManagedTensorVersioned* out[4] = {};
  EXPECT_EQ(ingot_session_get_constant(s, "layer.w", false, out), INGOT_INVALID);
  EXPECT_EQ(ingot_error(), file + " does not give its constants away");

  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* record = static_cast<stub_record*>(dlsym(library, "stub_seen"));
  std::strcpy(record->failing, "AOTInductorModelContainerSwapConstantBuffer");
  EXPECT_EQ(ingot_session_swap(s), INGOT_INVALID);
  EXPECT_EQ(ingot_error(), file + ": a call failed; the library does not say why");
  *record = {};
  EXPECT_EQ(ingot_session_swap(s), INGOT_OK) << ingot_error();
  dlclose(library);
}

TEST_F(SessionTest, RunsIntoNewMemoryAndIntoTheCallers) {
  ingot_session* s = open(mlp());
  const View x(mlp_input());
  const DLTensor* in[] = {x};
  DLManagedTensorVersioned* out[1] = {};
  ASSERT_EQ(ingot_session_run(s, in, 1, out, 1), INGOT_OK) << ingot_error();
  const Tensor result = from_dlpack(out[0]);
  expect_close(result, mlp_output());

  // A column-major buffer of the caller.
  const Tensor mine = zeros({10, 8}).t();
  const View place(mine);
  DLTensor target = *static_cast<const DLTensor*>(place);
  DLTensor* targets[] = {&target};
  ASSERT_EQ(ingot_session_run_into(s, in, 1, targets, 1), INGOT_OK) << ingot_error();
  expect_close(mine, mlp_output());
  open(mlp("other.so"));
  expect_close(result, mlp_output());  // outlives its session
}

TEST_F(SessionTest, WrongCallsAreRefusedInWords) {
  ingot_session* none = nullptr;
  EXPECT_EQ(ingot_session_open(path("none.so").c_str(), nullptr, &none), INGOT_INVALID);
  expect_in("Failed to load model", ingot_error());
  EXPECT_EQ(ingot_session_open(nullptr, nullptr, &none), INGOT_INVALID);
  ingot_options bad = INGOT_OPTIONS_INIT;
  bad.device = "toaster";
  EXPECT_EQ(ingot_session_open(mlp().c_str(), &bad, &none), INGOT_INVALID);
  expect_in("toaster", ingot_error());

  ingot_session* s = open(mlp());
  const View wide(zeros({8, 65})), doubles(zeros({8, 64}, {.dtype = float64})), right(mlp_input());
  DLManagedTensorVersioned* out[1] = {};
  const auto run = [&](const DLTensor* t) {
    const DLTensor* in[] = {t};
    const ingot_status status = ingot_session_run(s, in, 1, out, 1);
    EXPECT_EQ(status, INGOT_INVALID);
    return std::string(ingot_error());
  };
  expect_in("expected 64, found 65", run(wide));
  expect_in("float64", run(doubles));
  expect_in("input 0 (x): expected a tensor, found null", run(nullptr));
  DLTensor changed = *static_cast<const DLTensor*>(right);
  changed.device.device_type = kDLCUDA;
  expect_in("expected a tensor in the CPU's memory", run(&changed));
  changed = *static_cast<const DLTensor*>(right);
  changed.byte_offset = 2;
  expect_in("not aligned", run(&changed));
  changed = *static_cast<const DLTensor*>(right);
  changed.dtype = {kDLFloat, 32, 4};
  expect_in("4 lanes", run(&changed));
  const DLTensor* in[] = {right};
  EXPECT_EQ(ingot_session_run(s, in, 1, out, 2), INGOT_INVALID);
  expect_in("expected room for 1 outputs, found 2", ingot_error());
  DLTensor* targets[] = {&changed};
  changed = *static_cast<const DLTensor*>(right);
  EXPECT_EQ(ingot_session_run_into(s, in, 1, targets, 1), INGOT_INVALID);
  expect_in("output 0: sizes: expected [8, 10], found [8, 64]", ingot_error());
  EXPECT_EQ(ingot_session_run(nullptr, in, 1, out, 1), INGOT_INVALID);
}

TEST_F(SessionTest, ConstantsAreReadUpdatedAndSwapped) {
  ingot_session* s = open(mlp());
  ASSERT_EQ(ingot_session_constant_count(s), 6u);  // two of them are weights laid out for the processor
  ingot_constant_info info;
  EXPECT_EQ(ingot_session_constant(s, 0, &info), INGOT_OK);
  EXPECT_STREQ(info.name, "a.weight");
  EXPECT_TRUE(info.is_parameter);
  EXPECT_EQ(info.bytes, 128u * 64 * 4);
  EXPECT_FALSE(info.is_folded);
  EXPECT_EQ(ingot_session_constant(s, 4, &info), INGOT_OK);
  EXPECT_TRUE(info.is_folded);
  EXPECT_EQ(ingot_session_constant(s, 6, &info), INGOT_INVALID);

  const auto output = [&] {
    const View x(mlp_input());
    const DLTensor* in[] = {x};
    DLManagedTensorVersioned* out[1] = {};
    EXPECT_EQ(ingot_session_run(s, in, 1, out, 1), INGOT_OK) << ingot_error();
    return from_dlpack(out[0]);
  };
  const View weight(zeros({10, 128})), bias(ones({10})), first(zeros({128, 64})), second(zeros({128}));
  const ingot_named_tensor all[] = {{"b.weight", weight}, {"b.bias", bias}, {"a.weight", first}, {"a.bias", second}};
  EXPECT_EQ(ingot_session_update(s, all, 2, true, true), INGOT_INVALID);
  expect_in("Cannot find constants", ingot_error());
  ASSERT_EQ(ingot_session_update(s, all, 4, true, true), INGOT_OK) << ingot_error();
  EXPECT_EQ(ingot_session_fold(s, true), INGOT_OK) << ingot_error();
  expect_close(output(), mlp_output());
  EXPECT_EQ(ingot_session_swap(s), INGOT_OK);
  expect_close(output(), ones({8, 10}));
  DLManagedTensorVersioned* copy = nullptr;
  ASSERT_EQ(ingot_session_get_constant(s, "b.bias", false, &copy), INGOT_OK) << ingot_error();
  expect_close(from_dlpack(copy), ones({10}));
  EXPECT_EQ(ingot_session_swap(s), INGOT_OK);
  EXPECT_EQ(ingot_session_free_inactive(s), INGOT_OK);
  expect_close(output(), mlp_output());
  const ingot_named_tensor unknown[] = {{"c.bias", bias}};
  EXPECT_EQ(ingot_session_update(s, unknown, 1, false, false), INGOT_INVALID);
  expect_in("the model has no constant 'c.bias'", ingot_error());
}

// Names of one storage: a run writes through one, a caller through the other, and both see it,
// wherever the weights lie.
TEST_F(SessionTest, P025_P143_NamesThatShareAStorageStayOne) {
  const std::string folder = std::string(INGOT_GOLDEN_DIR) + "/wide/shared_state.static/";
  const SafeTensors data = SafeTensors::open(folder + "case0.safetensors");
  for (const auto kind : {Model::Weights::Kind::embedded, Model::Weights::Kind::external, Model::Weights::Kind::appended}) {
    Program program = load_pt2(folder + "model.pt2");
    compile(program, path("shared.so"), {.weights = kind});
    ingot_session* s = open(path("shared.so"));
    const View x(data.get("in.0")), position(data.get("in.1"));
    const auto run = [&] {
      const DLTensor* in[] = {x, position};
      DLManagedTensorVersioned* out[2] = {};
      EXPECT_EQ(ingot_session_run(s, in, 2, out, 2), INGOT_OK) << ingot_error();
      return TensorList{from_dlpack(out[0]), from_dlpack(out[1])};
    };
    const auto constant = [&](const char* name, bool inactive = false) {
      DLManagedTensorVersioned* copy = nullptr;
      EXPECT_EQ(ingot_session_get_constant(s, name, inactive, &copy), INGOT_OK) << ingot_error();
      return from_dlpack(copy);
    };
    const TensorList first = run();
    expect_close(first[0], data.get("out.0"));
    expect_close(first[1], data.get("out.1"));
    expect_close(constant("key"), data.get("buffer.key"));
    expect_close(constant("lifted_tensor_0"), data.get("buffer.key"));
    expect_close(run()[1], 2 * data.get("out.1") - 1);  // the next run goes on from there

    const View tens(zeros({4, 3}) + 10);
    for (const char* name : {"value", "lifted_tensor_1"}) {
      const ingot_named_tensor update[] = {{name, tens}};
      ASSERT_EQ(ingot_session_update(s, update, 1, false, false), INGOT_OK) << ingot_error();
      expect_close(constant("value"), zeros({4, 3}) + 10);
      expect_close(run()[1], zeros({4, 3}) + 21);
      expect_close(constant("lifted_tensor_1"), zeros({4, 3}) + 20);
    }
    // The other set begins with what the active one has, and with what is given under either name.
    const ingot_named_tensor update[] = {{"lifted_tensor_1", tens}};
    ASSERT_EQ(ingot_session_update(s, update, 1, true, false), INGOT_OK) << ingot_error();
    expect_close(constant("value", true), zeros({4, 3}) + 10);
    expect_close(constant("key", true), data.get("buffer.key"));
    EXPECT_EQ(ingot_session_swap(s), INGOT_OK);
    expect_close(run()[1], zeros({4, 3}) + 21);
  }
}

// Names that are parts of one storage, of which the run writes some.
TEST_F(SessionTest, P025_PartsOfOneStorageSeeWhatIsWrittenToTheOthers) {
  const std::string folder = std::string(INGOT_GOLDEN_DIR) + "/wide/shared_parts.static/";
  const SafeTensors data = SafeTensors::open(folder + "case0.safetensors");
  for (const auto kind : {Model::Weights::Kind::embedded, Model::Weights::Kind::external, Model::Weights::Kind::none}) {
    Program program = load_pt2(folder + "model.pt2");
    compile(program, path("parts.so"), {.weights = kind});
    ingot_session* s = open(path("parts.so"));
    const auto constant = [&](const char* name) {
      DLManagedTensorVersioned* copy = nullptr;
      EXPECT_EQ(ingot_session_get_constant(s, name, false, &copy), INGOT_OK) << ingot_error();
      return from_dlpack(copy);
    };
    if (kind == Model::Weights::Kind::none) {
      for (const char* name : {"rows", "all", "turned", "last"}) {
        const View given(program.state.at(name).tensor);
        const ingot_named_tensor update[] = {{name, given}};
        ASSERT_EQ(ingot_session_update(s, update, 1, false, false), INGOT_OK) << ingot_error();
      }
    }
    const View x(data.get("in.0"));
    const DLTensor* in[] = {x};
    DLManagedTensorVersioned* out[5] = {};
    ASSERT_EQ(ingot_session_run(s, in, 1, out, 5), INGOT_OK) << ingot_error();
    for (std::size_t k = 0; k < 5; k++) expect_close(from_dlpack(out[k]), data.get(text("out.", k)));
    for (const char* name : {"rows", "all", "turned"}) expect_close(constant(name), data.get(text("buffer.", name)));

    const View sixes(zeros({6}) + 6);
    const ingot_named_tensor update[] = {{"last", sixes}};
    ASSERT_EQ(ingot_session_update(s, update, 1, false, false), INGOT_OK) << ingot_error();
    expect_close(constant("all").select(0, 3), zeros({6}) + 6);
    expect_close(constant("turned").select(1, 3), zeros({6}) + 6);
    expect_close(constant("rows"), data.get("buffer.rows"));
  }
}

TEST_F(SessionTest, PackagesAndOptions) {
  constexpr const char* kMetadata = R"({"AOTI_DEVICE_KEY": "cpu"})";
  const std::string ext = mlp("ext.so", {.weights = Model::Weights::Kind::external});
  write_package(path("p.pt2"), {{"one", mlp(), kMetadata, ""}, {"two", ext, kMetadata, ext + ".safetensors"}});
  ingot_options options = INGOT_OPTIONS_INIT;
  options.model = "two";
  options.models = 2;
  options.threads = 1;
  ingot_session* s = open(path("p.pt2"), &options);
  EXPECT_EQ(ingot_session_set_threads(s, 2), INGOT_OK);
  EXPECT_EQ(ingot_session_set_threads(s, 0), INGOT_INVALID);
  const View x(mlp_input());
  const DLTensor* in[] = {x};
  DLManagedTensorVersioned* out[1] = {};
  ASSERT_EQ(ingot_session_run(s, in, 1, out, 1), INGOT_OK) << ingot_error();
  expect_close(from_dlpack(out[0]), mlp_output());
  options.model = "three";
  ingot_session* none = nullptr;
  EXPECT_EQ(ingot_session_open(path("p.pt2").c_str(), &options, &none), INGOT_INVALID);
  expect_in("one, two", ingot_error());
}

}  // namespace
}  // namespace ingot
