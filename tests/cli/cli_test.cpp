// The command line as a user meets it: exit status, standard output, standard error, JSON.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/json.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int status = -1;
  std::string out, err;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ingot_cli_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  Ran ingot(const std::string& args) const {
    const fs::path out = folder_ / "out", err = folder_ / "err";
    const int status = std::system((INGOT_PROGRAM " " + args + " >" + out.string() + " 2>" + err.string()).c_str());
    return {WEXITSTATUS(status), contents(out), contents(err)};
  }
  static std::string golden(const std::string& path) { return std::string(INGOT_GOLDEN_DIR) + "/" + path; }
  fs::path folder_;
};

TEST_F(Cli, HelpHasExamplesForEveryVerb) {
  const Ran help = ingot("--help");
  EXPECT_EQ(help.status, 0);
  for (const std::string verb : {"check", "graph", "inspect", "ops", "target"}) {
    EXPECT_NE(help.out.find("\n  " + verb), std::string::npos) << verb;
    const Ran r = ingot(verb + " --help");
    EXPECT_EQ(r.status, 0);
    EXPECT_NE(r.out.find("example"), std::string::npos) << verb;
    EXPECT_EQ(r.err, "");
  }
}

TEST_F(Cli, AWrongCommandLineIsStatus2) {
  EXPECT_EQ(ingot("check --nonsense").status, 2);
  EXPECT_EQ(ingot("nonsense").status, 2);
}

TEST_F(Cli, CheckAgreesWithPyTorch) {
  const Ran r = ingot("check " + golden("models/mlp/model.pt2 ") + golden("models/mlp/case0.safetensors"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("passed: largest difference"), std::string::npos) << r.out;
}

TEST_F(Cli, CheckSaysWhatDiffers) {
  const Ran r = ingot("check " + golden("models/mlp/model.pt2 ") + golden("models/mlp/case1.safetensors") + " --rtol 0 --atol -1");
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.out.find("failed: out.0: "), std::string::npos) << r.out;
}

TEST_F(Cli, CheckOfTheWrongCaseNamesTheInput) {
  const Ran r = ingot("check " + golden("models/mlp/model.pt2 ") + golden("models/lenet/case0.safetensors"));
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.out.find("failed"), std::string::npos) << r.out;
}

TEST_F(Cli, CheckWritesJson) {
  const fs::path file = folder_ / "r.json";
  const Ran r = ingot("check --suite " + golden("ops") + " --filter 'aten.add.Tensor' --json " + file.string());
  EXPECT_EQ(r.status, 0) << r.out;
  const std::string json = contents(file);
  const JsonDocument document(json, "r.json");
  const int64_t passed = document.root().field("passed").integer();
  EXPECT_GT(passed, 5);
  EXPECT_EQ(document.root().field("failed").integer(), 0);
  EXPECT_EQ(document.root().field("cases").list().size(), static_cast<std::size_t>(passed));
  EXPECT_TRUE(r.out.ends_with(" passed, 0 failed, 0 skipped\n")) << r.out;

  const Ran alone = ingot("check --suite " + golden("ops") + " --filter 'aten.add.Tensor' --json");
  EXPECT_EQ(JsonDocument(alone.out, "stdout").root().field("passed").integer(), passed);
}

TEST_F(Cli, CheckFindsEverySet) {
  const Ran r = ingot("check --suite " + std::string(INGOT_GOLDEN_DIR) + " --filter mlp -v");
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  EXPECT_NE(r.out.find("models/mlp: "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("train/mlp: "), std::string::npos) << r.out;
}

TEST_F(Cli, CheckRefusesWhatItCannotDo) {
  EXPECT_NE(ingot("check --suite /nowhere").err.find("/nowhere is no folder"), std::string::npos);
  EXPECT_NE(ingot("check --suite " + folder_.string()).err.find("has no cases"), std::string::npos);
  EXPECT_NE(ingot("check a.pt2").err.find("check takes MODEL.pt2 and CASE.safetensors, or --suite DIR"), std::string::npos);
  EXPECT_EQ(ingot("check --suite " + golden("ops") + " --filter nothing_is_called_so").status, 1);
}

TEST_F(Cli, OpsListsAndFindsWhatIsMissing) {
  const Ran ops = ingot("ops layer_norm --json");
  EXPECT_EQ(ops.status, 0);
  EXPECT_GE(JsonDocument(ops.out, "stdout").root().list().size(), 2u);
  const Ran none = ingot("ops --missing " + golden("models/cond/model.pt2"));
  EXPECT_EQ(none.status, 0) << none.out << none.err;
  EXPECT_NE(none.out.find("every operator"), std::string::npos) << none.out;
}

}  // namespace
}  // namespace ingot
