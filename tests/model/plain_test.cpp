// Model libraries in a program that is plain C, here and on the other architecture, and what a
// library needs and weighs.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "model_fixture.hpp"
#include "support/sanitized.hpp"
#include "support/test_folder.hpp"

namespace ingot::test {
namespace {

const char* foreign_arch() { return std::string_view(INGOT_ARCH) == "x86_64" ? "aarch64" : "x86_64"; }

// Standard output and error of a command, with its status behind them.
std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> part;
  while (const size_t n = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), n);
  return output + "status " + std::to_string(pclose(pipe));
}

// The last line that it prints; lines of errors that it provokes come before.
std::string plain_result(const std::string& arch, const std::string& before, int updates) {
  const std::string folder = INGOT_TEST_MODEL_DIR;
  const std::string output = output_of(before + folder + "/plain_" + arch + " " + library_path("affine", arch) + " " +
                                       library_path("many", arch) + " " + std::to_string(updates));
  return output.ends_with("ok\nstatus 0") ? "ok" : output;
}

TEST(PlainC, I013_I021_I024_LoadsRunsUpdatesAndSwaps) { EXPECT_EQ(plain_result(INGOT_ARCH, "", 200), "ok"); }

TEST(PlainC, I013_I021_I024_OnTheOtherArchitecture) {
  const std::string arch = foreign_arch(), qemu = "qemu-" + arch;
  if (std::system(("command -v " + qemu + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no " << qemu;
  EXPECT_EQ(plain_result(arch, qemu + " -L /usr/" + arch + "-linux-gnu ", 20), "ok");
}

TEST(PlainC, AHostOutOfTheGlobalScopeIsFound) {
  const std::string folder = INGOT_TEST_MODEL_DIR;
  EXPECT_EQ(output_of(folder + "/hidden_host_" + INGOT_ARCH + " " + folder + "/hidden/libsome_host.so " + library_path("affine")),
            "ok\nstatus 0");
}
TEST(PlainC, AHostOfPyTorch26IsFound) {
  const std::string folder = INGOT_TEST_MODEL_DIR;
  EXPECT_EQ(output_of(folder + "/hidden_host_" + INGOT_ARCH + " " + folder + "/hidden/libold_host.so " + library_path("affine")),
            "ok\nstatus 0");
}

TEST(PlainC, I011_ALibraryWithoutCodeForThisProcessorSaysSo) {
  const std::string output = output_of(std::string(INGOT_TEST_MODEL_DIR) + "/plain_" + INGOT_ARCH + " " +
                                       library_path("affine_no_level") + " " + library_path("many"));
  EXPECT_NE(output.find("no code for this processor: the library has future (which needs feature 120)"), std::string::npos)
      << output;
  EXPECT_TRUE(output.ends_with("status 256")) << output;
}

TEST(ModelLibrary, NeedsLibcAloneAndIsSmall) {
  if (kAddressSanitized || kThreadSanitized) GTEST_SKIP() << "the sanitizer is part of the library";
  for (const std::string arch : {INGOT_ARCH, foreign_arch()}) {
    const std::string path = library_path("affine_pure", arch);
    const std::string needed = output_of("readelf -d " + path + " | grep NEEDED");
    EXPECT_EQ(needed.find("NEEDED"), needed.rfind("NEEDED")) << needed;
    EXPECT_NE(needed.find("[libc.so.6]"), std::string::npos) << needed;
    // What is loaded; the file may have gaps between its segments, as large as the target's largest
    // page.
    const int bytes = std::atoi(output_of("readelf -W -l " + path +
                                          " | awk '$1 == \"LOAD\" {print $5}' | while read x; do echo $(($x)); done"
                                          " | awk '{sum += $1} END {print sum}'")
                                    .c_str());
    EXPECT_GT(bytes, 10000) << arch;
    EXPECT_LT(bytes, 150 * 1024) << arch;
  }
}

TEST(ModelLibrary, I009_ExportsItsInterfaceAlone) {
  if (kAddressSanitized || kThreadSanitized) GTEST_SKIP() << "the sanitizer is part of the library";
  for (const std::string arch : {INGOT_ARCH, foreign_arch()}) {
    const std::string others =
        output_of("readelf -W --dyn-syms " + library_path("affine", arch) +
                  " | awk '$7 != \"UND\" && $4 != \"SECTION\" && $8 != \"\" && $8 !~ /^(AOTInductor|ingot_|Name)/ {print $8}'");
    EXPECT_EQ(others, "status 0") << arch;
    EXPECT_EQ(output_of("readelf -W --dyn-syms " + library_path("affine", arch) + " | grep -c ' AOTInductor'"), "36\nstatus 0")
        << arch;
  }
}

}  // namespace
}  // namespace ingot::test
