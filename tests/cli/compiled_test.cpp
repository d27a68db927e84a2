// The verbs around compiled models: compile, run, bench, inspect, package, check.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "cli_fixture.hpp"
#include "ingot/npy.hpp"
#include "io/json.hpp"
#include "io/safetensors.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

class CompiledCli : public Cli {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  Ran compile(const std::string& model, const std::string& output, const std::string& options = "") const {
    return ingot("compile " + golden("models/" + model + "/model.pt2") + " -o " + file(output) + " " + options);
  }
  static std::string case0(const std::string& model) { return golden("models/" + model + "/case0.safetensors"); }
  // The elements of two tensors are close.
  static void expect_close(const Tensor& found, const Tensor& expected) {
    const std::vector<double> f = found.to_vector<double>(), e = expected.to_vector<double>();
    ASSERT_EQ(f.size(), e.size());
    for (std::size_t i = 0; i < e.size(); i++) ASSERT_NEAR(f[i], e[i], 1e-5);
  }
  static void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  }
};

TEST_F(CompiledCli, CompilesAndRuns) {
  const Ran compiled = compile("mlp", "mlp.so", "--time");
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  EXPECT_EQ(compiled.err, "") << "progress is for terminals";
  expect_in("codegen", compiled.out);
  expect_in("mlp.so: ", compiled.out);
  const Ran ran = ingot("run " + file("mlp.so") + " --input " + case0("mlp") + " --output " + file("y.npy"));
  ASSERT_EQ(ran.status, 0) << ran.err;
  expect_in("f32[8, 10]", ran.out);
  expect_close(load_npy(file("y.npy")), SafeTensors::open(case0("mlp")).get("out.0"));

  // The same through .npy files in, a folder, .npz and .safetensors out, and as JSON.
  save_npy(file("x.npy"), SafeTensors::open(case0("mlp")).get("in.0"));
  for (const std::string out : {"folder", "y.npz", "y.safetensors"})
    EXPECT_EQ(ingot("run " + file("mlp.so") + " -i " + file("x.npy") + " -o " + file(out)).status, 0) << out;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "folder"), fs::directory_iterator()), 1);
  expect_close(load_npz(file("y.npz"))[0].second, load_npy(file("y.npy")));
  const Ran json = ingot("run " + file("mlp.so") + " --threads 1 --json -i " + file("x.npy"));
  const JsonDocument document(json.out, "stdout");
  const Json output = document.root().field("outputs").list().at(0);
  EXPECT_EQ(output.field("shape").list().at(1).integer(), 10);
  EXPECT_EQ(output.field("dtype").string(), "float32");
  EXPECT_EQ(output.field("nans").integer(), 0);
}

TEST_F(CompiledCli, SeveralProgramsAreEntryPointsOfOneLibrary) {
  const auto program = [](const std::string& name) { return golden("entries/" + name + ".pt2"); };
  const std::string cases = golden("entries/cases.safetensors");
  const Ran compiled =
      ingot("compile " + program("prefill") + " step=" + program("decode") + " -o " + file("two.so") + " --time");
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  const Ran about = ingot("inspect " + file("two.so"));
  expect_in("compiled model 'prefill+step'", about.out);
  expect_in("entry point step\ninputs\n  token  i64[1, 1]\n  at     i64[1]\n", about.out);
  const JsonDocument json(ingot("inspect --json " + file("two.so")).out, "stdout");
  ASSERT_EQ(json.root().field("entries").list().size(), 2u);
  EXPECT_EQ(json.root().field("entries").list()[1].field("name").string(), "step");
  EXPECT_EQ(json.root().field("inputs").list().size(), 1u);

  const SafeTensors expected = SafeTensors::open(cases);
  save_npy(file("prompt.npy"), expected.get("prompt"));
  save_npy(file("text.npy"), expected.get("text"));
  ASSERT_EQ(ingot("run " + file("two.so") + " -i " + file("prompt.npy") + " -o " + file("y.npy")).status, 0);
  expect_close(load_npy(file("y.npy")), expected.get("prefill"));
  expect_in("f32[1, 48]", ingot("run " + file("two.so") + " --entry step --random").out);
  EXPECT_EQ(ingot("bench " + file("two.so") + " --entry step --random").status, 0);
  const Ran unknown = ingot("run " + file("two.so") + " --entry decode --random");
  EXPECT_EQ(unknown.status, 1);
  expect_in("has no entry point 'decode'; it has prefill, step", unknown.err);

  // The programs of one file, by name.
  const Ran archive =
      ingot("compile " + golden("entries/lm.pt2") + " --model cached,evaluate -o " + file("lm.so") + " --emit=loop");
  ASSERT_EQ(archive.status, 0) << archive.err;
  EXPECT_TRUE(fs::exists(folder_ / "lm.evaluate.loop.txt"));
  ASSERT_EQ(ingot("run " + file("lm.so") + " --entry evaluate -i " + file("text.npy") + " -o " + file("loss.npy")).status, 0);
  expect_close(load_npy(file("loss.npy")), expected.get("evaluate"));
  for (const std::string& wrong :
       {"a=" + program("prefill") + " a=" + program("decode"), program("prefill") + " " + program("decode") + " --model prefill",
        "x=" + golden("entries/lm.pt2") + " --model cached,evaluate",
        program("prefill") + " " + golden("models/mlp/model.pt2") + "x"})
    EXPECT_EQ(ingot("compile " + wrong + " -o " + file("wrong.so")).status, 1) << wrong;
  EXPECT_FALSE(fs::exists(folder_ / "wrong.so"));
}

TEST_F(CompiledCli, RandomInputsTakeSizesForSymbols) {
  ASSERT_EQ(compile("mlp", "mlp.so").status, 0);
  const JsonDocument about(ingot("inspect --json " + file("mlp.so")).out, "stdout");
  const std::string symbol = about.root().field("symbols").list().at(0).field("name").string();
  expect_in("f32[33, 10]", ingot("run " + file("mlp.so") + " --random --size " + symbol + "=33").out);
  const Ran small = ingot("run " + file("mlp.so") + " --random --size " + symbol + "=1");
  EXPECT_EQ(small.status, 1);
  expect_in("expected 2 to 4096, found 1", small.err);
  const Ran unknown = ingot("run " + file("mlp.so") + " --random --size nothing=1");
  EXPECT_EQ(unknown.status, 1);
  expect_in("the model has no symbol nothing; it has " + symbol, unknown.err);
  const Ran none = ingot("run " + file("mlp.so"));
  EXPECT_EQ(none.status, 1);
  expect_in("has no value: give --input", none.err);
}

TEST_F(CompiledCli, BenchMeasures) {
  ASSERT_EQ(compile("mlp", "mlp.so").status, 0);
  const Ran r = ingot("bench " + file("mlp.so") + " --seconds 0.05 --warm-up 0 --threads 1 --json");
  ASSERT_EQ(r.status, 0) << r.err;
  const JsonDocument document(r.out, "stdout");
  const Json root = document.root();
  EXPECT_GE(root.field("runs").integer(), 10);
  EXPECT_EQ(root.field("threads").integer(), 1);
  EXPECT_LE(root.field("median_s").real(), root.field("p99_s").real());
  EXPECT_LE(root.field("min_s").real(), root.field("median_s").real());
  expect_in("p50 ", ingot("bench " + file("mlp.so") + " --seconds 0").out);
}

TEST_F(CompiledCli, InspectShowsACompiledModel) {
  ASSERT_EQ(compile("mlp", "mlp.so").status, 0);
  const JsonDocument document(ingot("inspect --json " + file("mlp.so")).out, "stdout");
  const Json root = document.root();
  EXPECT_EQ(root.field("constants").size(), 6u);  // two of them are weights laid out for the processor
  EXPECT_EQ(root.field("constants").list().at(5).field("kind").string(), "folded constant");
  EXPECT_EQ(root.field("constants").list().at(0).field("kind").string(), "parameter");
  EXPECT_EQ(root.field("inputs").size(), 1u);
  EXPECT_EQ(root.field("symbols").list().at(0).field("max").integer(), 4096);
  EXPECT_EQ(root.field("level_used").string(), root.field("levels").list().at(0).string());
  const Ran text = ingot("inspect " + file("mlp.so"));
  for (const char* part : {"inputs", "outputs", "open sizes", "a.weight", "(used here)"}) expect_in(part, text.out);
  std::ofstream(file("bad.so")) << "nothing";
  const Ran bad = ingot("inspect " + file("bad.so"));
  EXPECT_EQ(bad.status, 1);
  expect_in("Failed to load model", bad.err);
}

TEST_F(CompiledCli, MetadataIsKeptInTheLibrary) {
  ASSERT_EQ(compile("mlp", "mlp.so", "--metadata version=3 --metadata 'made for=a test = this'").status, 0);
  const Ran shown = ingot("inspect " + file("mlp.so"));
  expect_in("version = 3", shown.out);
  expect_in("made for = a test = this", shown.out);
  for (const auto& [bad, words] :
       {std::pair("version", "--metadata version: expected KEY=VALUE"), std::pair("=3", "--metadata =3: expected KEY=VALUE"),
        std::pair("a=1 --metadata a=2", "--metadata a=2: the key has a value already"),
        std::pair("ingot.a=1", "metadata: 'ingot.a': keys that begin with")}) {
    const Ran r = compile("mlp", "bad.so", std::string("--metadata ") + bad);
    EXPECT_EQ(r.status, 1);
    expect_in(words, r.err);
    EXPECT_FALSE(fs::exists(file("bad.so")));
  }
}

TEST_F(CompiledCli, WeightsLieInsideOutsideOrNowhere) {
  ASSERT_EQ(compile("mlp", "in.so").status, 0);
  const Ran external = compile("mlp", "ext.so", "--weights external --json"), none = compile("mlp", "none.so", "--weights=none");
  ASSERT_EQ(external.status, 0) << external.err;
  ASSERT_EQ(none.status, 0) << none.err;
  EXPECT_EQ(JsonDocument(external.out, "stdout").root().field("weights_bytes").integer(),
            static_cast<int64_t>(fs::file_size(file("ext.so.safetensors"))));
  EXPECT_GT(fs::file_size(file("in.so")), fs::file_size(file("ext.so")) + 30000);
  const std::string run = " --input " + case0("mlp");
  EXPECT_EQ(ingot("run " + file("ext.so") + run).out.substr(0, 60), ingot("run " + file("in.so") + run).out.substr(0, 60));
  const Ran empty = ingot("run " + file("none.so") + run);
  EXPECT_EQ(empty.status, 1);
  expect_in("compiled without weights", empty.err);
  const Ran given = ingot("run " + file("none.so") + run + " --weights " + file("ext.so.safetensors") + " -o " + file("y.npy"));
  EXPECT_EQ(given.status, 0) << given.err;
  expect_close(load_npy(file("y.npy")), SafeTensors::open(case0("mlp")).get("out.0"));
  EXPECT_EQ(compile("mlp", "x.so", "--weights somewhere").status, 2);
  // Behind the library, in the same file.
  const Ran behind = compile("mlp", "app.so", "--weights append");
  ASSERT_EQ(behind.status, 0) << behind.err;
  EXPECT_FALSE(fs::exists(file("app.so.safetensors")));
  EXPECT_EQ(ingot("run " + file("app.so") + run).out.substr(0, 60), ingot("run " + file("in.so") + run).out.substr(0, 60));
}

TEST_F(CompiledCli, StagesAreDumpedAndNamed) {
  const Ran dump = compile("mlp", "mlp.so", "--dump-after schedule");
  ASSERT_EQ(dump.status, 0) << dump.err;
  EXPECT_TRUE(dump.out.starts_with("program ")) << dump.out.substr(0, 200);
  expect_in("def forward", compile("mlp", "mlp.so", "--dump-after trace").out);
  const Ran unknown = compile("mlp", "mlp.so", "--dump-after nothing");
  EXPECT_EQ(unknown.status, 1);
  expect_in(
      "there is no such stage; the stages are read, trace, dead_code, merge_equal, lower, schedule, fold, memory, constants, codegen, table, link",
      unknown.err);
  const Ran bytes = compile("mlp", "mlp.so", "--dump-after link");
  EXPECT_EQ(bytes.status, 1);
  expect_in("this stage has no text form", bytes.err);
}

// The names of the stages that --json lists, which are all of the time. A machine that does
// something else between two stages has a time that is in none: one undisturbed run is asked for.
std::string stages_of_all_the_time(const std::function<Ran()>& compile) {
  std::string names;
  double share = 0;
  for (int tries = 0; tries < 5 && share < 0.97; tries++) {
    const Ran r = compile();
    EXPECT_EQ(r.status, 0) << r.err;
    if (r.status != 0) return "";
    const JsonDocument said(r.out, "stdout");
    names.clear();
    double sum = 0;
    for (const Json& stage : said.root().field("stages").list()) {
      names += stage.field("name").string() + " ";
      EXPECT_GE(stage.field("seconds").real(), 0);
      sum += stage.field("seconds").real();
    }
    const double all = said.root().field("seconds").real();
    EXPECT_LE(sum, all) << "no time counts twice";
    share = sum / all;
  }
  EXPECT_GE(share, 0.97);
  return names;
}

TEST_F(CompiledCli, StagesAreAllOfTheTime) {
  EXPECT_EQ(stages_of_all_the_time([&] { return compile("gpt_tiny", "gpt.so", "--json"); }),
            "read trace dead_code merge_equal lower schedule fold memory constants codegen table link ");
}

// What is done for the entries at once is told as if it were done for one after the other.
TEST_F(CompiledCli, StagesOfSeveralEntriesAreAllOfTheTime) {
  const std::string bert = golden("zoo/bert_base/model.pt2");
  const std::string two = "compile one=" + bert + " two=" + bert + " --weights none -o " + file("two.so");
  std::string alone;
  for (const std::string threads : {"1", "4"}) {
    const Ran dump = ingot(two + " --dump-after fold --threads " + threads);
    EXPECT_EQ(stages_of_all_the_time([&] { return ingot(two + " --json --threads " + threads); }),
              "read trace trace dead_code merge_equal lower dead_code merge_equal lower "
              "schedule fold memory schedule fold memory constants codegen table link ");
    ASSERT_EQ(dump.status, 0) << dump.err;
    if (alone.empty()) alone = dump.out;
    EXPECT_EQ(dump.out, alone) << threads;
  }
  EXPECT_NE(alone, "");
}

// Each entry's text is the one it has by itself, in the order of the entries, also where the next
// stage has long changed what it was made of.
TEST_F(CompiledCli, TextsOfSeveralEntriesAreInOrder) {
  const std::string prefill = golden("entries/prefill.pt2"), decode = golden("entries/decode.pt2");
  const auto dump = [&](const std::string& programs, const std::string& stage) {
    return ingot("compile " + programs + " --threads 4 -o " + file("x.so") + " --dump-after " + stage).out;
  };
  for (const std::string stage : {"dead_code", "merge_equal", "lower", "schedule"}) {
    const std::string first = dump(prefill, stage), second = dump(decode, stage);
    EXPECT_NE(first, second) << stage;
    EXPECT_EQ(dump(prefill + " " + decode, stage), first + second) << stage;
  }
}

TEST_F(CompiledCli, StagesOfALoopTextAreAllOfTheTime) {
  const Ran lowered =
      ingot("compile " + golden("zoo/bert_base/model.pt2") + " --weights none --dump-after lower -o " + file("bert.so"));
  ASSERT_EQ(lowered.status, 0) << lowered.err;
  std::ofstream(file("bert.loop")) << lowered.out;
  const std::string again = "compile " + file("bert.loop") + " --weights none --json -o " + file("loop.so");
  EXPECT_EQ(stages_of_all_the_time([&] { return ingot(again); }), "read schedule fold memory constants codegen table link ");
}

// The first words of the lines that --time prints of stages.
std::vector<std::string> stages_of(std::istream& times) {
  std::vector<std::string> stages;
  for (std::string line, word; std::getline(times, line);)
    if (std::istringstream words(line); line.ends_with("s") && words >> word && line.find(": ") == std::string::npos)
      stages.push_back(word);
  return stages;
}

// One list: what --time prints is what the progress bar names while it is done …
TEST_F(CompiledCli, TheProgressBarNamesTheStages) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
    GTEST_SKIP() << "there are no terminals here to show a bar on: is /dev/pts mounted?";
  const std::string name = ptsname(terminal);
  const int kept = open(name.c_str(), O_RDWR | O_NOCTTY);  // what was written stays there to be read
  const std::string model = golden("models/mlp/model.pt2");
  ASSERT_EQ(std::system(
                (INGOT_PROGRAM " compile " + model + " -o " + file("m.so") + " --time >" + file("times") + " 2>" + name).c_str()),
            0);
  std::string bar;
  std::array<char, 4096> bytes{};
  for (ssize_t n = 0; (n = read(terminal, bytes.data(), bytes.size())) > 0;)
    bar.append(bytes.data(), static_cast<std::size_t>(n));
  close(kept);
  close(terminal);
  std::ifstream times(file("times"));
  const std::vector<std::string> timed = stages_of(times);
  std::vector<std::string> shown;
  for (std::size_t at = 0; (at = bar.find(" of ", at)) != std::string::npos; at++) {
    std::size_t count = 0;
    const std::size_t colon = bar.find_first_not_of("0123456789", at + 4);
    std::istringstream(bar.substr(at + 4)) >> count;
    EXPECT_EQ(count, timed.size()) << bar;
    if (bar.compare(colon, 2, ": ") == 0) shown.push_back(bar.substr(colon + 2, bar.find('\x1b', colon) - colon - 2));
  }
  EXPECT_EQ(shown, timed) << bar;
  EXPECT_GT(timed.size(), 5u);
}

// … what --dump-after takes, and what --skip takes or refuses by name.
TEST_F(CompiledCli, EveryOptionHasTheSameStages) {
  std::istringstream times(compile("mlp", "mlp.so", "--time").out);
  const std::vector<std::string> timed = stages_of(times);
  ASSERT_GT(timed.size(), 5u);

  const std::string help = ingot("compile --help").out;
  int skipped = 0;
  for (const std::string& stage : timed) {
    expect_in(stage, help);
    const Ran dump = compile("mlp", "mlp.so", "--dump-after " + stage),
              without = compile("mlp", "mlp.so", "--skip " + stage + " --time");
    EXPECT_EQ(dump.err.find("no such stage"), std::string::npos) << dump.err;
    if (without.status == 0) {
      skipped++;
      EXPECT_EQ(without.out.find(stage + " "), std::string::npos) << without.out;
      ASSERT_EQ(ingot("run " + file("mlp.so") + " --input " + case0("mlp") + " --output " + file("y.npy")).status, 0);
      expect_close(load_npy(file("y.npy")), SafeTensors::open(case0("mlp")).get("out.0"));
    } else {
      expect_in(
          "stage '" + stage +
              "' cannot be skipped: there is no library without it; those that can be skipped are dead_code, merge_equal, fold",
          without.err);
    }
  }
  EXPECT_EQ(skipped, 3) << "dead_code, merge_equal, fold";
  expect_in("there is no stage 'nothing' to skip", compile("mlp", "mlp.so", "--skip nothing").err);
}

TEST_F(CompiledCli, TextsAreWrittenBesideTheLibrary) {
  const Ran r = compile("mlp", "mlp.so", "--emit=graph,loop,llvm,asm --json");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(JsonDocument(r.out, "stdout").root().field("texts").size(), 4u);
  const auto read = [&](const std::string& name) {
    std::ifstream f(file(name));
    return std::string(std::istreambuf_iterator<char>(f), {});
  };
  expect_in("def forward", read("mlp.graph.txt"));
  expect_in("  kernel ", read("mlp.loop.txt"));
  expect_in("define hidden void @kernel.", read("mlp.ll"));
  expect_in("ingot_run.0.0:", read("mlp.s"));
  EXPECT_EQ(compile("mlp", "x.so", "--emit=tokens").status, 2);
}

TEST_F(CompiledCli, DebugInfoNamesTheLinesOfTheProgram) {
  const auto lines = [&](const std::string& library) {
    const std::string text = file("lines.txt");
    EXPECT_EQ(std::system(("readelf --debug-dump=decodedline " + file(library) + " > " + text + " 2>/dev/null").c_str()), 0);
    std::ifstream f(text);
    return std::string(std::istreambuf_iterator<char>(f), {});
  };
  ASSERT_EQ(compile("gpt_tiny", "plain.so").status, 0);
  ASSERT_EQ(compile("gpt_tiny", "debug.so", "-g").status, 0);
  EXPECT_EQ(lines("plain.so").find(".py"), std::string::npos);
  expect_in(".py", lines("debug.so"));
  EXPECT_EQ(ingot("run " + file("debug.so") + " --input " + case0("gpt_tiny")).status, 0);
}

TEST_F(CompiledCli, TargetsAndLevels) {
  for (const std::string target : {"x86_64", "aarch64"}) {
    const Ran r = compile("mlp", target + ".so", "--target " + target + "-linux-gnu");
    ASSERT_EQ(r.status, 0) << r.err;
  }
#ifdef __x86_64__
  const std::string levels = "--target x86_64-linux-gnu --cpu x86-64-v4,x86-64-v3,x86-64-v2", foreign = "aarch64.so";
#else
  const std::string levels = "--target aarch64-linux-gnu --cpu neoverse-v1,neoverse-n1,generic", foreign = "x86_64.so";
#endif
  ASSERT_EQ(compile("mlp", "levels.so", levels).status, 0);
  EXPECT_EQ(JsonDocument(ingot("inspect --json " + file("levels.so")).out, "stdout").root().field("levels").size(), 3u);
  EXPECT_EQ(ingot("run " + file("levels.so") + " --random").status, 0);
  const Ran r = ingot("run " + file(foreign) + " --random");
  EXPECT_EQ(r.status, 1);
  expect_in("(it is for ", r.err);
  EXPECT_EQ(compile("mlp", "x.so", "--target vax").status, 1);
}

TEST_F(CompiledCli, PackagesHoldSeveralModels) {
  ASSERT_EQ(compile("mlp", "mlp.so").status, 0);
  ASSERT_EQ(compile("dynamic_shapes", "shapes.so", "--weights external").status, 0);
  const Ran made = ingot("package " + file("mlp.so") + " other=" + file("shapes.so") + " -o " + file("p.pt2") +
                         " --metadata version=3 --json");
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(JsonDocument(made.out, "stdout").root().field("models").list().at(1).field("name").string(), "other");
  EXPECT_EQ(ingot("run " + file("p.pt2") + " --model mlp -i " + case0("mlp")).status, 0);
  EXPECT_EQ(ingot("run " + file("p.pt2") + " --model other --random").status, 0);
  expect_in("version = 3", ingot("inspect " + file("p.pt2") + " --model mlp").out);
  const Ran unnamed = ingot("run " + file("p.pt2") + " --random");
  EXPECT_EQ(unnamed.status, 1);
  expect_in("mlp, other", unnamed.err);
  ASSERT_EQ(ingot("package " + file("mlp.so") + " -o " + file("one.pt2")).status, 0);
  EXPECT_EQ(ingot("run " + file("one.pt2") + " --random").status, 0);
  EXPECT_EQ(ingot("package " + case0("mlp") + " -o " + file("bad.pt2")).status, 1);
  EXPECT_FALSE(fs::exists(file("bad.pt2")));
  const Ran program = ingot("run " + golden("models/mlp/model.pt2") + " --random");
  EXPECT_EQ(program.status, 1);
  expect_in("compile it first: ingot compile", program.err);
}

TEST_F(CompiledCli, ChecksCompiledPrograms) {
  const Ran suite = ingot("check --suite " + golden("models") + " --compiled --filter 'mlp*' --filter dynamic_shapes -j 2");
  EXPECT_EQ(suite.status, 0) << suite.out << suite.err;
  EXPECT_TRUE(suite.out.ends_with("3 passed, 0 failed, 0 skipped\n")) << suite.out;
  ASSERT_EQ(compile("mlp", "mlp.so").status, 0);
  const std::string program = golden("models/mlp/model.pt2");
  EXPECT_EQ(ingot("check " + file("mlp.so") + " " + case0("mlp") + " --against " + program).status, 0);
  const Ran random = ingot("check " + file("mlp.so") + " --against " + program);
  EXPECT_EQ(random.status, 0) << random.out << random.err;
  expect_in("passed: largest difference", random.out);
  ASSERT_EQ(compile("lstm_gru", "lstm_gru.so").status, 0);  // its tanh is not the one of eager, to the last bit
  const Ran strict =
      ingot("check " + file("lstm_gru.so") + " --against " + golden("models/lstm_gru/model.pt2") + " --rtol 0 --atol 0");
  EXPECT_EQ(strict.status, 1);
  expect_in("failed: out.0: ", strict.out);
  const Ran wrong =
      ingot("check " + file("mlp.so") + " " + case0("lstm_gru") + " --against " + golden("models/lstm_gru/model.pt2"));
  EXPECT_EQ(wrong.status, 1);
}

TEST_F(CompiledCli, ChecksOnTheOtherArchitecture) {
#ifdef __x86_64__
  const std::string arch = "aarch64";
#else
  const std::string arch = "x86_64";
#endif
  if (!fs::exists(INGOT_FOREIGN_RUNNER)) GTEST_SKIP() << INGOT_FOREIGN_RUNNER << " is not built: no " << arch << "-linux-gnu-gcc";
  if (std::system(("command -v qemu-" + arch + " >/dev/null").c_str()) != 0) GTEST_SKIP() << "no qemu-" << arch;
  const std::string runner = " --runner 'qemu-" + arch + " -L /usr/" + arch + "-linux-gnu " INGOT_FOREIGN_RUNNER "'";
  const std::string compiled = " --compiled --target " + arch + "-linux-gnu" + runner + " -j 2";
  const Ran models =
      ingot("check --suite " + golden("models") + compiled + " --filter 'mlp*' --filter dynamic_shapes --filter lstm_gru");
  EXPECT_EQ(models.status, 0) << models.out << models.err;
  EXPECT_TRUE(models.out.ends_with("4 passed, 0 failed, 0 skipped\n")) << models.out;
  const Ran ops = ingot("check --suite " + golden("ops") + compiled +
                        " --filter 'add/f32*' --filter 'sum/f32*' --filter 'mm/f32*' --filter 'softmax/f32*'");
  EXPECT_EQ(ops.status, 0) << ops.out << ops.err;
  EXPECT_EQ(ingot("check --suite " + golden("models") + " --target aarch64-linux-gnu").status, 2) << "a target is for --compiled";
}

// A file that is no program is told from one by its first bytes.
TEST_F(CompiledCli, FilesThatAreNoProgramsAreNamed) {
  const std::pair<const char*, const char*> strangers[] = {
      {"", "found an empty file"},
      {"\177ELF\2\1\1", "found a library (`ingot run` runs a model that is compiled)"},
      {"\x80\2}q", "found a pickle"},
      {"program main()\n", "found the text of a loop program"},
      {"hello, world, this is long", "found a file that begins with 'hello, world, th'"},
  };
  for (const auto& [bytes, found] : strangers) {
    std::ofstream(file("stranger.pt2"), std::ios::binary) << bytes;
    for (const std::string verb : {"compile ", "graph ", "ops --missing "}) {
      const Ran ran = ingot(verb + file("stranger.pt2"));
      EXPECT_EQ(ran.status, 1) << verb;
      EXPECT_NE(ran.err.find(file("stranger.pt2") + ": expected an exported program"), std::string::npos) << ran.err;
      EXPECT_NE(ran.err.find(found), std::string::npos) << ran.err;
    }
  }
}

// valgrind takes writable mappings of a library for its segments: nothing maps one so before it is
// loaded.
TEST_F(CompiledCli, ModelsRunUnderValgrind) {
#if defined(__x86_64__)
  const std::string any_processor = "--target x86_64 ";  // valgrind's has less than the machine's
#else
  const std::string any_processor = "--target aarch64 ";
#endif
  if (kSanitized) GTEST_SKIP() << "a sanitized program does not run under valgrind";
  if (std::system("valgrind --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no valgrind";
  const Ran compiled = compile("mlp", "m.so", any_processor + "--weights external");
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  const std::string said = file("said");
  const std::string command = "valgrind -q --tool=none " INGOT_PROGRAM " run " + file("m.so") + " --random >" + said + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << contents(said);
}

TEST_F(CompiledCli, AFailedCompileLeavesNoFile) {
  EXPECT_EQ(ingot("compile " + file("none.pt2") + " -o " + file("x.so")).status, 1);
  std::ofstream(file("bad.pt2")) << "not a zip";
  EXPECT_EQ(ingot("compile " + file("bad.pt2") + " -o " + file("x.so")).status, 1);
  EXPECT_EQ(compile("mlp", "no/such/folder/x.so").status, 1);
  EXPECT_FALSE(fs::exists(file("x.so")));
  fs::create_directory(file("folder.so"));
  EXPECT_EQ(compile("mlp", "folder.so", "--weights external --emit=graph").status, 1);
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_FALSE(entry.path().filename().string().starts_with("folder.so.")) << entry;
  EXPECT_FALSE(fs::exists(file("folder.graph.txt")));
  EXPECT_EQ(ingot("compile").status, 2);
}

}  // namespace
}  // namespace ingot
