// LLVM IR to a library that runs: targets, object code, the link, and what a finished library may
// need.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "codegen/data_object.hpp"
#include "codegen/emit.hpp"
#include "codegen/link.hpp"
#include "codegen/rename_symbols.hpp"
#include "codegen/target.hpp"
#include "support/test_folder.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAddArrays = R"(
define void @add(ptr noalias %out, ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %po = getelementptr float, ptr %out, i64 %i
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %sum = fadd float %x, %y
  store float %sum, ptr %po
  %next = add nuw i64 %i, 1
  %more = icmp ne i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
)";
using Add = void (*)(float*, const float*, const float*, int64_t);

constexpr const char* kTargets[] = {"x86_64-linux-gnu", "aarch64-linux-gnu"};

// An empty folder that goes with the test. Every library needs a path of its own: dlopen knows
// libraries by their name.
class CodegenTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  bool folder_is_empty() const { return fs::is_empty(folder_.path()); }

 private:
  const testing::TestFolder folder_;
};
using Codegen = CodegenTest;
using CodegenLink = CodegenTest;

std::string message_of(auto&& action) {
  try {
    action();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no user error";
}

template <class Function>
Function load(const std::string& library, const char* symbol) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_TRUE(handle) << dlerror();
  return handle ? reinterpret_cast<Function>(dlsym(handle, symbol)) : nullptr;
}

Elf64_Ehdr elf_header(const std::string& path) {
  Elf64_Ehdr header{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  return header;
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  EXPECT_TRUE(pipe);
  std::array<char, 4096> part;
  while (size_t n = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

TEST(CodegenTarget, NamesAreParsed) {
  EXPECT_EQ(parse_target("native"), native_target());
  EXPECT_EQ(parse_target("x86_64-linux-gnu").triple, "x86_64-unknown-linux-gnu");
  EXPECT_EQ(parse_target("x86_64-pc-linux-gnu"), parse_target("x86_64"));
  EXPECT_EQ(arch_of(parse_target("aarch64-linux-gnu")), Arch::aarch64);
  EXPECT_EQ(parse_target("x86_64").cpu, "x86-64");
  EXPECT_EQ(parse_target("aarch64", "neoverse-v1").cpu, "neoverse-v1");
}

TEST(CodegenTarget, OtherNamesAreUserErrors) {
  EXPECT_EQ(message_of([] { parse_target("sparc"); }),
            "unknown target 'sparc': expected native, x86_64-linux-gnu or aarch64-linux-gnu");
  EXPECT_NE(message_of([] { parse_target("x86_64-apple-darwin"); }).find("unknown target"), std::string::npos);
  EXPECT_NE(message_of([] { parse_target("x86_64", "pentium5"); }).find("unknown processor 'pentium5' for x86_64"),
            std::string::npos);
  const char* foreign = arch_of(native_target()) == Arch::x86_64 ? "aarch64" : "x86_64";
  EXPECT_NE(message_of([&] { parse_target(foreign, "native"); }).find("the processor of this machine"), std::string::npos);
}

// A target may be written by hand. Of some triples the beginning is a known architecture's name.
TEST(CodegenTarget, ArchitecturesThatNobodyMakesCodeForAreUserErrors) {
  for (const char* triple : {"nvptx64-nvidia-cuda", "riscv64-linux-gnu", "aarch64_be-linux-gnu", "i686-linux-gnu", ""}) {
    const Target target{triple, "", ""};
    const std::string expected =
        text("no code is made for the architecture of the target '", triple, "': expected x86_64 or aarch64");
    EXPECT_EQ(message_of([&] { arch_of(target); }), expected);
    EXPECT_EQ(message_of([&] { vector_bits(target); }), expected);
    EXPECT_EQ(message_of([&] { kernel_archive(target); }), expected);
    EXPECT_EQ(message_of([&] { emit_text("add.ll", kAddArrays, target); }), expected);
  }
}

TEST(CodegenTarget, ProcessorsImplyFeatures) {
  EXPECT_TRUE(has_feature(parse_target("x86_64", "x86-64-v3"), "avx2"));
  EXPECT_FALSE(has_feature(parse_target("x86_64", "x86-64-v3"), "avx512f"));
  EXPECT_EQ(vector_bits(parse_target("x86_64")), 128);
  EXPECT_EQ(vector_bits(parse_target("x86_64", "x86-64-v3")), 256);
  EXPECT_EQ(vector_bits(parse_target("x86_64", "x86-64-v4")), 512);
  EXPECT_EQ(vector_bits(parse_target("aarch64", "neoverse-v1")), 128);
  // LLVM 19 exchanges the operands of masked comparisons of halves.
  EXPECT_TRUE(has_feature(parse_target("x86_64", "sapphirerapids"), "avx512bf16"));
  EXPECT_FALSE(has_feature(parse_target("x86_64", "sapphirerapids"), "avx512fp16"));
  if (arch_of(native_target()) == Arch::x86_64) {
    EXPECT_FALSE(has_feature(native_target(), "avx512fp16"));
  }
}

TEST_F(Codegen, AddsTwoArrays) {
  const Target target = native_target();
  const Object object = emit_text("add.ll", kAddArrays, target);
  link_library({&object, 1}, target, path("add.so"));
  const Add add = load<Add>(path("add.so"), "add");
  ASSERT_TRUE(add);
  const std::vector<float> a = {1, 2, 3}, b = {10, 20, 30};
  std::vector<float> out(3);
  add(out.data(), a.data(), b.data(), 3);
  EXPECT_EQ(out, (std::vector<float>{11, 22, 33}));
}

TEST_F(Codegen, EitherTargetCanBeMadeHere) {
  for (const char* name : kTargets) {
    const Target target = parse_target(name);
    const Object object = emit_text("add.ll", kAddArrays, target);
    link_library({&object, 1}, target, path(name));
    const Elf64_Ehdr header = elf_header(path(name));
    EXPECT_EQ(header.e_type, ET_DYN);
    EXPECT_EQ(header.e_machine, arch_of(target) == Arch::x86_64 ? EM_X86_64 : EM_AARCH64);
  }
}

TEST_F(Codegen, WideVectorsStayWhole) {
  const Target target = parse_target("x86_64", "x86-64-v4");
  const char* ir = R"(
    define void @f(ptr %p, ptr %q) {
      %x = load <16 x float>, ptr %p, align 4
      %y = fadd <16 x float> %x, %x
      store <16 x float> %y, ptr %q, align 4
      ret void
    })";
  const Object object = emit_text("wide.ll", ir, target);
  // vaddps zmm0, zmm0, zmm0: the prefix EVEX with a vector length of 512
  EXPECT_NE(object.bytes.find("\x62\xf1\x7c\x48\x58\xc0"), std::string::npos);
}

TEST_F(Codegen, BadTextIsAUserErrorWithItsPlace) {
  EXPECT_EQ(message_of([] { emit_text("bad.ll", "define void @f() {\n  return\n}\n", native_target()); }),
            "bad.ll:2:3: expected instruction opcode");
}

TEST_F(Codegen, SameInputSameBytesAlsoAfterALink) {
  for (const char* name : kTargets) {
    const Target target = parse_target(name);
    const Object before = emit_text("add.ll", kAddArrays, target);
    link_library({&before, 1}, target, path("one.so"));
    const Object after = emit_text("add.ll", kAddArrays, target);
    EXPECT_EQ(before.bytes, after.bytes);
  }
}

TEST_F(Codegen, ThreadsMayEmitAndLinkAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const Target target = parse_target(kTargets[t % 2]);
      for (int i = 0; i < 5; ++i) {
        const Object object = emit_text("add.ll", kAddArrays, target);
        link_library({&object, 1}, target, path(text(t, ".", i, ".so")));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST_F(CodegenLink, TakesOnlyTheKernelsInUse) {
  const std::string ir =
      "declare i64 @ingot_k_gemm_tasks(i64, i64, i64)\n"
      "define i64 @tasks() {\n  %n = call i64 @ingot_k_gemm_tasks(i64 64, i64 64, i64 64)\n  ret i64 %n\n}\n";
  for (const char* name : kTargets) {
    const Target target = parse_target(name);
    const Object object = emit_text("tasks.ll", ir, target);
    link_library({&object, 1}, target, path(name));
    EXPECT_LT(fs::file_size(path(name)), fs::file_size(kernel_archive(target)) / 4);
    EXPECT_EQ(output_of("nm -D --defined-only " + path(name)).find("ingot_k_"), std::string::npos);
  }
  const std::string native(to_text(arch_of(native_target())));
  EXPECT_GT(load<int64_t (*)()>(path(native + "-linux-gnu"), "tasks")(), 0);
}

TEST_F(CodegenLink, TakesWhatIsUsedOfArchives) {
  for (const char* name : kTargets) {
    const Target target = parse_target(name);
    const std::string archive = path(text(name, ".a")), object_file = path(text(name, ".o"));
    std::ofstream(archive, std::ios::binary)
        << archive_of(emit_text("brought.ll", "define hidden i64 @brought() {\n  ret i64 7\n}\n", target));
    const Object object = emit_text("asks.ll",
                                    "declare i64 @brought()\n"
                                    "define i64 @f() {\n  %n = call i64 @brought()\n  ret i64 %n\n}\n",
                                    target);
    EXPECT_NE(message_of([&] { link_library({&object, 1}, target, path("none.so")); }).find("undefined symbol: brought"),
              std::string::npos);
    link_library({&object, 1}, target, path(name), {}, {&archive, 1});
    EXPECT_EQ(output_of("nm -D --defined-only " + path(name)).find("brought"), std::string::npos);
    link_object({&object, 1}, target, {{"f", "named"}}, object_file, {&archive, 1});
    const std::string undefined = output_of("nm --undefined-only " + object_file);
    EXPECT_EQ(undefined.find("brought"), std::string::npos) << undefined;
  }
  const std::string native(to_text(arch_of(native_target())));
  EXPECT_EQ(load<int64_t (*)()>(path(native + "-linux-gnu"), "f")(), 7);

  const Object object = emit_text("add.ll", kAddArrays, native_target());
  const std::string nowhere = "libingot_nowhere.a";
  const auto link = [&] { link_library({&object, 1}, native_target(), path("none.so"), {}, {&nowhere, 1}); };
  EXPECT_NE(message_of(link).find("this installation of Ingot lacks libingot_nowhere.a"), std::string::npos);
}

TEST_F(CodegenLink, LibrariesNameTheLibcTheyNeed) {
  const std::string ir =
      "declare float @expf(float)\ndeclare ptr @memcpy(ptr, ptr, i64)\n"
      "define float @f(float %x) {\n  %y = call float @expf(float %x)\n  ret float %y\n}\n"
      "define void @copy(ptr %to, ptr %from, i64 %n) {\n"
      "  call ptr @memcpy(ptr %to, ptr %from, i64 %n)\n  ret void\n}\n";
  for (const char* name : kTargets) {
    const Target target = parse_target(name);
    const Object object = emit_text("exp.ll", ir, target);
    link_library({&object, 1}, target, path(name));
    const std::string needs = output_of("readelf -dW " + path(name));
    EXPECT_NE(needs.find("[libm.so.6]"), std::string::npos) << needs;
    EXPECT_NE(needs.find("[libc.so.6]"), std::string::npos) << needs;
    const std::string symbols = output_of("readelf -W --dyn-syms " + path(name));
    EXPECT_NE(symbols.find("expf@GLIBC_2.27"), std::string::npos) << symbols;
  }
  const std::string native(to_text(arch_of(native_target())));
  EXPECT_FLOAT_EQ(load<float (*)(float)>(path(native + "-linux-gnu"), "f")(1), std::exp(1.0f));
}

// What is made of code, of a kernel and of data says that its returns are guarded and its places to
// jump to marked; and they are.
TEST_F(CodegenLink, LibrariesGuardTheirControlFlow) {
  const std::string ir =
      "declare i64 @ingot_k_gemm_tasks(i64, i64, i64)\n@weights = external hidden global [4 x i8]\n"
      "define i64 @tasks() {\n  %w = load i8, ptr @weights\n  %m = zext i8 %w to i64\n"
      "  %n = call i64 @ingot_k_gemm_tasks(i64 64, i64 64, i64 %m)\n  %s = add i64 %n, %m\n  ret i64 %s\n}\n";
  const std::string bytes = "data";
  for (const char* name : kTargets) {
    const Target target = parse_target(name);
    const bool x86 = arch_of(target) == Arch::x86_64;
    const std::vector<Object> objects{
        emit_text("tasks.ll", ir, target),
        data_object("weights", "weights", {{bytes.data(), bytes.size(), 0}}, bytes.size(), arch_of(target))};
    link_library(objects, target, path(name));
    const std::string notes = output_of("readelf -nW " + path(name));
    EXPECT_NE(notes.find(x86 ? "x86 feature: IBT, SHSTK" : "AArch64 feature: BTI, PAC"), std::string::npos) << name << notes;
    // endbr64; paciasp, which is a place to jump to as well
    const std::string_view mark = x86 ? "\xf3\x0f\x1e\xfa" : "\x3f\x23\x03\xd5";
    EXPECT_NE(objects[0].bytes.find(mark), std::string::npos) << name;
  }
}

TEST_F(CodegenLink, MissingSymbolIsAUserErrorAndLeavesNoFile) {
  const Target target = native_target();
  const Object object =
      emit_text("calls.ll", "declare void @nowhere()\ndefine void @f() {\n  call void @nowhere()\n  ret void\n}\n", target);
  const std::string output = path("f.so");
  const std::string message = message_of([&] { link_library({&object, 1}, target, output); });
  EXPECT_NE(message.find("cannot link '" + output + "'"), std::string::npos) << message;
  EXPECT_NE(message.find("undefined symbol: nowhere"), std::string::npos) << message;
  EXPECT_NE(message.find("calls.ll"), std::string::npos) << message;
  EXPECT_EQ(message.find("/proc/"), std::string::npos) << message;
  EXPECT_TRUE(folder_is_empty());

  const Object good = emit_text("add.ll", kAddArrays, target);
  link_library({&good, 1}, target, output);
  EXPECT_TRUE(fs::exists(output));
}

TEST_F(CodegenLink, GarbageIsAUserErrorAndTheNextLinkWorks) {
  const Target target = native_target();
  const Object garbage{"garbage", "not an object"};
  const std::string message = message_of([&] { link_library({&garbage, 1}, target, path("bad.so")); });
  EXPECT_NE(message.find("garbage"), std::string::npos) << message;
  EXPECT_TRUE(folder_is_empty());
  const Object good = emit_text("add.ll", kAddArrays, target);
  link_library({&good, 1}, target, path("good.so"));
}

// lld gives up on a damaged file in a way it does not recover from. The process lives on and says
// so.
TEST_F(CodegenLink, DamagedObjectIsAUserErrorAndEndsLinkingInThisProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Target target = native_target();
  const Object good = emit_text("add.ll", kAddArrays, target);
  const Object damaged{"damaged.o", good.bytes.substr(0, 100)};
  auto link_twice = [&] {
    std::cerr << message_of([&] { link_library({&damaged, 1}, target, path("bad.so")); }) << '\n'
              << message_of([&] { link_library({&good, 1}, target, path("good.so")); });
    std::_Exit(folder_is_empty() ? 0 : 1);  // lld leaves its memory behind: no leak check
  };
  EXPECT_EXIT(link_twice(), ::testing::ExitedWithCode(0),
              "cannot link '.*bad.so': .*damaged.o.*\ncannot link '.*good.so': .* start a new process");
}

TEST_F(CodegenLink, WrongArchitectureIsAUserError) {
  const Object object = emit_text("add.ll", kAddArrays, parse_target("aarch64"));
  const std::string message = message_of([&] { link_library({&object, 1}, parse_target("x86_64"), path("add.so")); });
  EXPECT_NE(message.find("add.ll is incompatible with"), std::string::npos) << message;
}

TEST_F(CodegenLink, OutputThatCannotBeWrittenIsAUserError) {
  const Target target = native_target();
  const Object object = emit_text("add.ll", kAddArrays, target);
  const std::string output = path("no/such/folder/add.so");
  const std::string message = message_of([&] { link_library({&object, 1}, target, output); });
  EXPECT_NE(message.find(output), std::string::npos) << message;
  EXPECT_NE(message.find("No such file or directory"), std::string::npos) << message;
}

// Two copies of LLVM in one process hang: ours is static, and the shared one must not come along.
TEST(CodegenProgram, NeedsNoSharedLlvm) {
  const fs::path tests = fs::read_symlink("/proc/self/exe");
  for (const fs::path& program : {tests, tests.parent_path() / "ingot"}) {
    const std::string libraries = output_of("ldd " + program.string());
    EXPECT_NE(libraries.find("libc.so"), std::string::npos) << libraries;
    EXPECT_EQ(libraries.find("LLVM"), std::string::npos) << libraries;
    EXPECT_EQ(libraries.find("lld"), std::string::npos) << libraries;
    EXPECT_EQ(libraries.find("Polly"), std::string::npos) << libraries;
  }
}

}  // namespace
}  // namespace ingot
