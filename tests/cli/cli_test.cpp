// The command line as a user meets it: exit status, standard output, standard error, JSON.
#include <regex>

#include "cli_fixture.hpp"
#include "io/json.hpp"

namespace ingot {
namespace {

TEST_F(Cli, HelpHasExamplesForEveryVerb) {
  const Ran help = ingot("--help");
  EXPECT_EQ(help.status, 0);
  for (const std::string verb : {"bench", "check", "compile", "graph", "inspect", "ops", "package", "run", "target", "verify"}) {
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
  const Ran r =
      ingot("check " + golden("models/mlp/model.pt2 ") + golden("models/mlp/case1.safetensors") + " --rtol 0 --atol -1");
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.out.find("failed: out.0: "), std::string::npos) << r.out;
}

TEST_F(Cli, CheckOfTheWrongCaseNamesTheInput) {
  const Ran r = ingot("check " + golden("models/mlp/model.pt2 ") + golden("models/lenet/case0.safetensors"));
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.out.find("failed: input x"), std::string::npos) << r.out;
}

TEST_F(Cli, CheckJudgesOneCaseAsTheSuiteWould) {
  const auto one = [&](const std::string& program, const std::string& data, const std::string& options) {
    return ingot("check " + golden(program) + " " + golden(data) + " " + options);
  };
  for (const std::string set : {"zoo/distilbert_tiny", "train/mlp"}) {  // weights are made; a loss and its gradients
    const Ran r = one(set + "/model.pt2", set + (set[0] == 'z' ? "/case0" : "/expected") + ".safetensors", "--grad");
    EXPECT_EQ(r.status, 0) << r.out << r.err;
  }
  // Eigenvectors are free up to their phase.
  EXPECT_EQ(one("ops/linalg.eigh/f32_0.pt2", "ops/linalg.eigh/f32_0.safetensors", "--grad --strides").status, 0);
  // A file after --json is the case's if it can be.
  const Ran json = ingot("check --json " + golden("models/mlp/model.pt2 ") + golden("models/mlp/case0.safetensors"));
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(JsonDocument(json.out, "stdout").root().field("outcome").string(), "passed");
}

TEST_F(Cli, AFailingSuiteSaysSoInItsLastLine) {
  const Ran r = ingot("check --suite " + golden("models") + " --filter 'm*' --rtol 0 --atol -1 -j 2");
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.out.find("FAILED  mlp: case"), std::string::npos) << r.out;
  const std::string last = r.out.substr(r.out.rfind('\n', r.out.size() - 2) + 1);
  EXPECT_TRUE(std::regex_match(last, std::regex("[0-9]+ passed, [1-9][0-9]* failed, 0 skipped\n"))) << r.out;
}

TEST_F(Cli, GraphAndInspectShowAProgram) {
  const Ran plain = ingot("graph " + golden("models/cond/model.pt2")),
            readable = ingot("graph --readable " + golden("models/cond/model.pt2"));
  EXPECT_TRUE(plain.out.starts_with("def forward(self, p_l_weight, p_l_bias, x):\n")) << plain.out;
  EXPECT_NE(readable.out.find("class true_graph_0(torch.nn.Module):"), std::string::npos);
  const Ran inspect = ingot("inspect --json " + golden("models/gpt_tiny/model.pt2"));
  const JsonDocument document(inspect.out, "stdout");
  EXPECT_EQ(document.root().field("inputs").list().at(0).field("type").string(), "i64[s58, s48]");
  EXPECT_EQ(document.root().field("dynamic").list().at(0).field("max").integer(), 64);
  EXPECT_EQ(document.root().field("parameters").field("elements").integer(), 31680);
  EXPECT_NE(ingot("inspect " + golden("models/gpt_tiny/model.pt2")).out.find("dynamic sizes"), std::string::npos);
  const Ran none = ingot("inspect " + (folder_ / "nothing.pt2").string());
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("nothing.pt2"), std::string::npos) << none.err;
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
  const Ran alone = ingot("check a.pt2");
  EXPECT_EQ(alone.status, 2);
  EXPECT_NE((alone.out + alone.err).find("takes MODEL.pt2 and CASE.safetensors, or --suite DIR"), std::string::npos) << alone.err;
  EXPECT_EQ(ingot("check a.pt2 b.safetensors --filter x").status, 2);
  EXPECT_EQ(ingot("check a.pt2 b.safetensors --compiled --grad --runner true").status, 2);
  EXPECT_EQ(ingot("check a.pt2 b.safetensors --against c.pt2").status, 2);
  EXPECT_EQ(ingot("check a.so").status, 2);
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
