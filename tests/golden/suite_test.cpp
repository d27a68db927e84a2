// Every golden case against PyTorch's numbers: op cases with gradients and strides, models at every
// size, losses and gradients of training programs, published architectures. known_failures.txt
// lists what does not agree yet; a case that starts to agree must leave the list.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "check/workers.hpp"
#include "graph/interpret.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

std::string folder(const std::string& set) { return std::string(INGOT_GOLDEN_DIR) + "/" + set; }

std::set<std::string> known_failures(const std::string& set) {
  std::set<std::string> names;
  std::ifstream in(INGOT_GOLDEN_SOURCE "/known_failures.txt");
  EXPECT_TRUE(in.is_open());
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(set + "/")) names.insert(line.substr(0, line.find(' ')));
  return names;
}

// Names of cases, by the reason for which only a part of them is compared.
using InPart = std::map<std::string, std::set<std::string>>;

// Those of the operators that docs/status.md lists: a bullet for each reason,
// "- reason: name name …".
InPart listed_in_part() {
  InPart listed;
  std::ifstream in(INGOT_GOLDEN_SOURCE "/../../docs/status.md");
  EXPECT_TRUE(in.is_open());
  std::string line;
  while (std::getline(in, line) && !line.starts_with("Compared in part, of the operators: ")) continue;
  std::getline(in, line);
  EXPECT_EQ(line, "");
  while (std::getline(in, line) && line.starts_with("- ")) {
    const std::size_t end = line.rfind(": ");
    std::istringstream names(line.substr(end + 2));
    std::set<std::string>& of_reason = listed[line.substr(2, end - 2)];
    for (std::string name; names >> name;) EXPECT_TRUE(of_reason.insert(name).second) << name << " is listed twice";
  }
  return listed;
}

// How many cases a set has, and of how many only a part, or nothing, could be compared: none may
// drop out unseen.
struct Expected {
  std::size_t cases, skipped, partly;
};

void check_set(const std::string& set, const Expected& expected, const CheckOptions& options) {
  const std::vector<Case> cases = find_cases(folder(set));
  EXPECT_EQ(cases.size(), expected.cases);
  const auto results = check_cases(cases, options, num_threads(), [](std::size_t) {});
  const std::set<std::string> known = known_failures(set);
  std::size_t skipped = 0, partly = 0;
  InPart in_part;
  for (std::size_t i = 0; i < cases.size(); i++) {
    skipped += results[i].outcome == CheckResult::Outcome::skipped;
    partly += !results[i].partly.empty();
    if (!results[i].partly.empty()) in_part[results[i].partly].insert(cases[i].name);
    const std::string name = set + "/" + cases[i].name;
    const bool failed = results[i].outcome == CheckResult::Outcome::failed;
    EXPECT_EQ(failed, known.contains(name)) << name << ": "
                                            << (failed ? results[i].message : "agrees now: take it off known_failures.txt");
  }
  EXPECT_EQ(skipped, expected.skipped);
  EXPECT_EQ(partly, expected.partly);
  EXPECT_EQ(in_part, set == "ops" ? listed_in_part() : InPart()) << "scripts/status.sh writes the list";
}

TEST(GoldenOps, AgreeWithPyTorch) { check_set("ops", {2978, 2, 98}, {.gradients = true, .strides = true}); }
// Held to half the usual bounds, a product of float32 is accepted where it is the float64 one
// rounded, and not where one element is further from that than PyTorch's.
TEST(GoldenOps, ResultsBeyondTheBoundsAreHeldToFloat64) {
  std::vector<Case> cases = find_cases(folder("ops"));
  std::erase_if(cases, [](const Case& c) { return c.name != "matmul/f32_12"; });
  ASSERT_EQ(cases.size(), 1u);
  const auto outcome = [&](double off) -> std::string {
    CheckOptions options;
    options.tolerance = Tolerance{5e-6, 6.5e-7};  // half the usual
    options.prepare = [off](Program&) -> Execute {
      return [off](Program& program, Args inputs) {
        Values wide;
        for (const Value& v : inputs) wide.push_back(v.tensor().to(DType::f64));
        const Tensor product = Interpreter(program.main().graph).run(wide)[0].tensor().to(DType::f32);
        product.data<float>()[7] += static_cast<float>(off);
        return Values{product};
      };
    };
    const CheckResult r = check_case(cases[0], options);
    return r.message.empty() ? "passed" : r.message;
  };
  EXPECT_EQ(outcome(0), "passed");
  EXPECT_NE(outcome(1e-3).find("elements differ"), std::string::npos);
}
// Made by PyTorch 2.14, in the same layout: what was wrong once (orders of rounding in bfloat16,
// sums kept in it, sizes that data decides), and operators of other libraries.
TEST(GoldenMoreOps, AgreeWithPyTorch) { check_set("more_ops", {142, 0, 0}, {.gradients = true, .strides = true}); }
// Made by PyTorch 2.14: small programs, each with something that exported programs of published
// architectures do; open sizes at two settings.
TEST(GoldenWide, AgreesWithPyTorch) { check_set("wide", {60, 0, 0}, {}); }
TEST(GoldenModels, AgreeWithPyTorch) { check_set("models", {21, 0, 0}, {}); }
TEST(GoldenTrain, AgreeWithPyTorch) { check_set("train", {5, 0, 0}, {.gradients = true}); }

class GoldenZoo : public ::testing::TestWithParam<std::string> {};
TEST_P(GoldenZoo, AgreesWithPyTorch) {
  const std::vector<Case> cases = find_cases(folder("zoo/" + GetParam()));
  ASSERT_EQ(cases.size(), 1u);
  const CheckResult r = check_case(cases[0], {});
  EXPECT_EQ(r.outcome, CheckResult::Outcome::passed) << r.message;
  EXPECT_TRUE(kSanitized || r.seconds < 60) << r.seconds;
}
INSTANTIATE_TEST_SUITE_P(All, GoldenZoo,
                         ::testing::Values("bert_base", "clip_vision_tiny", "convnext_tiny", "densenet121", "distilbert_tiny",
                                           "efficientnet_b0", "gpt2", "llama_160m", "mistral_tiny", "mobilenet_v3_large",
                                           "resnet18", "resnet50", "segformer_tiny", "squeezenet1_1", "t5_encoder_tiny",
                                           "vit_b_16", "whisper_encoder_tiny"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace ingot
