// What every verb has in common: where errors and results go, and how numbers are shown.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "cli_fixture.hpp"
#include "ingot/npy.hpp"
#include "io/json.hpp"
#include "io/safetensors.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

const std::vector<std::string> kVerbs = {"bench", "check", "compile", "graph", "inspect", "ops", "package", "run", "target"};

class CommandLine : public Cli {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  static std::string mlp() { return golden("models/mlp/model.pt2"); }
  // A library of the golden mlp.
  std::string library(const std::string& name = "mlp.so", const std::string& options = "") const {
    const Ran r = ingot("compile " + mlp() + " -o " + file(name) + " " + options);
    EXPECT_EQ(r.status, 0) << r.err;
    return file(name);
  }
  // The program by a shell, in a way of its own: what it is given as standard output, how much it
  // may write.
  Ran shell(const std::string& command) const {
    const std::string err = file("shell.err"), out = file("shell.out");
    const int status = std::system(("( " + command + " ) >" + out + " 2>" + err).c_str());
    return {WEXITSTATUS(status), contents(out), contents(err)};
  }
  static std::size_t lines(const std::string& s) { return static_cast<std::size_t>(std::count(s.begin(), s.end(), '\n')); }
  static void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  }
};

TEST_F(CommandLine, HelpOfAVerbIsItsHelp) {
  EXPECT_EQ(ingot("help").out, ingot("--help").out);
  for (const std::string& verb : kVerbs) {
    const Ran help = ingot("help " + verb);
    EXPECT_EQ(help.status, 0) << help.err;
    EXPECT_EQ(help.out, ingot(verb + " --help").out);
    EXPECT_NE(help.out, ingot("--help").out);
  }
  const Ran unknown = ingot("help nonsense");
  EXPECT_EQ(unknown.status, 2);
  expect_in("there is no verb 'nonsense'", unknown.err);
}

TEST_F(CommandLine, HelpHasNoControlBytesAndNoLongNumbers) {
  for (const std::string& verb : kVerbs) {
    const Ran help = ingot(verb + " --help");
    for (const char c : help.out)
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << verb << ": byte " << static_cast<int>(c);
    EXPECT_FALSE(std::regex_search(help.out, std::regex("[0-9]{12}"))) << help.out;
  }
  for (const std::string wrong :
       {"bench m.so --threads 0", "bench m.so --seconds -1", "bench m.so --seconds inf", "bench m.so -c 0",
        "run m.so --threads -3", "run m.so --high 0", "compile m.pt2 --threads x", "check -j 0"}) {
    const Ran r = ingot(wrong);
    EXPECT_EQ(r.status, 2) << wrong;
    expect_in("expected a ", r.err);
    EXPECT_LT(r.err.size(), 200u) << r.err;
  }
}

TEST_F(CommandLine, AnErrorIsOneLineWithOnePrefix) {
  put("empty.pt2", "");
  const std::pair<std::string, int> wrong[] = {{"graph " + file("none.pt2"), 1},
                                               {"inspect " + file("empty.pt2"), 1},
                                               {"compile " + file("empty.pt2"), 1},
                                               {"run " + file("none.so"), 1},
                                               {"check --nonsense", 2},
                                               {"nonsense", 2},
                                               {"bench", 2},
                                               {"target vax", 1}};
  for (const auto& [arguments, status] : wrong) {
    const Ran text = ingot(arguments), json = ingot(arguments + " --json");
    EXPECT_EQ(text.status, status) << arguments;
    EXPECT_TRUE(text.err.starts_with("ingot: error: ")) << text.err;
    EXPECT_EQ(lines(text.err), 1u) << text.err;
    EXPECT_EQ(text.err.find("ingot: error: ", 1), std::string::npos) << text.err;
    EXPECT_EQ(text.out, "");
    // As JSON the same, once. (graph has no --json, which is an error in itself.)
    if (arguments.starts_with("graph")) continue;
    EXPECT_EQ(json.status, status) << arguments;
    EXPECT_EQ(json.out, "");
    EXPECT_EQ(lines(json.err), 1u) << json.err;
    const JsonDocument document(json.err, "stderr");
    const Json error = document.root().field("error");
    EXPECT_EQ(error.field("kind").string(), status == 2 ? "command line" : "user");
    EXPECT_FALSE(std::string(error.field("message").string()).empty());
  }
}

// What a library refuses is said in its words, without the line of ours that called it.
TEST_F(CommandLine, ErrorsNameNoSources) {
  const std::string so = library();
  const SafeTensors data = SafeTensors::open(golden("models/mlp/case0.safetensors"));
  save_npy(file("x.npy"), data.get("out.0"));
  const Ran r = ingot("run " + so + " --input " + file("x.npy"));
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err.find(".cpp"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("API call"), std::string::npos) << r.err;
  EXPECT_EQ(lines(r.err), 1u) << r.err;
}

TEST_F(CommandLine, WhatCannotBePrintedIsAnError) {
  for (const std::string& verb : std::vector<std::string>{"graph " + mlp(), "ops", "inspect " + mlp(), "--help", "--version"}) {
    const Ran full = shell(INGOT_PROGRAM " " + verb + " >/dev/full");
    EXPECT_EQ(full.status, 1) << verb;
    EXPECT_EQ(full.err, "ingot: error: cannot write to standard output: No space left on device\n");
    const Ran closed = shell(INGOT_PROGRAM " " + verb + " >&-");
    EXPECT_EQ(closed.status, 1) << verb;
    expect_in("cannot write to standard output", closed.err);
  }
}

TEST_F(CommandLine, AFullDiskIsNamedAndNothingIsLeft) {
  const std::string so = library();
  fs::create_directory(file("small"));
  for (const std::string& verb : {"compile " + mlp() + " -o m.so", "compile " + mlp() + " -o m.so --weights append",
                                  "compile " + mlp() + " -o m.so --weights external", "package " + so + " -o p.pt2",
                                  "check --suite " + golden("ops") + " --filter 'aten.add.*' --json r.json"}) {
    // A file may have eight kilobytes.
    const Ran r = shell("cd " + file("small") + " && ulimit -f 8 && " INGOT_PROGRAM " " + verb);
    EXPECT_EQ(r.status, 1) << verb << r.err;
    expect_in("File too large", r.err);
    EXPECT_TRUE(fs::is_empty(file("small"))) << verb;
  }
  if (std::system("unshare -m true 2>/dev/null") != 0) GTEST_SKIP() << "only root mounts a small disk to fill";
  // A page of a mapped file that has no room ends lld's work by SIGBUS, and LLVM leaves the handler
  // by a jump: TSan takes all that follows for a part of the handler, and reports its free().
  if (kThreadSanitized) {
    const char* given = std::getenv("TSAN_OPTIONS");
    setenv("TSAN_OPTIONS", (std::string(given != nullptr ? given : "") + " report_signal_unsafe=0").c_str(), 1);
  }
  const Ran r = shell("unshare -m sh -c 'mount -t tmpfs -o size=16k none " + file("small") + " && cd " + file("small") +
                      " && " INGOT_PROGRAM " compile " + mlp() + " -o m.so; s=$?; ls -A; exit $s'");
  EXPECT_EQ(r.status, 1) << r.err;
  expect_in("No space left on device", r.err);
  EXPECT_EQ(r.out, "") << "nothing is left";
}

TEST_F(CommandLine, OutputsReplaceRegularFilesAlone) {
  const std::string so = library();
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("nowhere", file("dangling").c_str()), 0);
  fs::create_directory(file("folder"));
  std::vector<std::string> places = {file("pipe"), file("dangling"), file("folder")};
  if (geteuid() == 0 && mknod(file("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0) places.push_back(file("null"));
  for (const std::string& place : places) {
    const auto kind = fs::symlink_status(place).type();
    for (const std::string& verb : {"compile " + mlp(), "compile " + mlp() + " --weights append", "package " + so}) {
      const Ran r = ingot(verb + " -o " + place);
      EXPECT_EQ(r.status, 1) << verb << place;
      expect_in("cannot write " + place, r.err);
      EXPECT_EQ(fs::symlink_status(place).type(), kind) << verb << place;
    }
  }
  // A link to a file stays one.
  put("old.so", "old");
  ASSERT_EQ(symlink("old.so", file("link.so").c_str()), 0);
  library("link.so");
  EXPECT_TRUE(fs::is_symlink(file("link.so")));
  EXPECT_TRUE(contents(file("old.so")).starts_with("\177ELF"));
}

TEST_F(CommandLine, InputsAreNotReplaced) {
  const std::string so = library();
  const std::string program = file("mlp.pt2");
  fs::copy_file(mlp(), program);
  for (const char* same : {"same.pt2", "same.json"}) ASSERT_EQ(symlink("mlp.pt2", file(same).c_str()), 0);
  save_npy(file("x.npy"), SafeTensors::open(golden("models/mlp/case0.safetensors")).get("in.0"));
  ASSERT_EQ(shell(INGOT_PROGRAM " compile " + program + " --dump-after schedule >" + file("k.loop.txt")).status, 0);
  const std::pair<std::string, std::string> wrong[] = {
      {"compile " + program + " -o " + program, program},
      {"compile " + program + " -o " + file("same.pt2"), program},
      {"package " + so + " -o " + so, so},
      {"run " + so + " -i " + file("x.npy") + " -o " + file("x.npy"), file("x.npy")},
      {"check " + program + " " + golden("models/mlp/case0.safetensors") + " --json " + file("same.json"), program},
      {"compile " + file("k.loop.txt") + " -o " + file("k.so") + " --emit=loop --weights none", file("k.loop.txt")}};
  for (const auto& [verb, read] : wrong) {
    const std::string before = contents(read);
    const Ran r = ingot(verb);
    EXPECT_EQ(r.status, 1) << verb;
    EXPECT_EQ(contents(read), before) << verb;
    expect_in("which is read", r.err);
  }
}

TEST_F(CommandLine, ADashIsStandardOutput) {
  const std::string so = library(), x = golden("models/mlp/case0.safetensors");
  const auto piped = [&](const std::string& verb, const std::string& name) {
    const Ran r = shell(INGOT_PROGRAM " " + verb + " -o - >" + file(name));
    EXPECT_EQ(r.status, 0) << verb << r.err;
    return r.err;
  };
  // As a file of its usual name has it, byte for byte; what is said goes to standard error.
  expect_in("-: ", piped("compile " + mlp(), "piped.so"));
  ASSERT_EQ(shell("cd " + file("") + " && " INGOT_PROGRAM " compile " + mlp()).status, 0);
  EXPECT_EQ(contents(file("piped.so")), contents(file("model.so")));
  piped("compile " + mlp() + " --weights append", "appended.so");
  EXPECT_EQ(ingot("run " + file("appended.so") + " -i " + x).status, 0);
  expect_in("model  ", piped("package " + so, "piped.pt2"));
  EXPECT_EQ(ingot("run " + file("piped.pt2") + " -i " + x).status, 0);
  expect_in("f32[8, 10]", piped("run " + so + " -i " + x, "y.safetensors"));
  const SafeTensors y = SafeTensors::open(file("y.safetensors"));
  ASSERT_EQ(y.names().size(), 1u);
  EXPECT_EQ(to_text(y.get(y.names()[0]).sizes()), "[8, 10]");
  // Also to where writing fails.
  expect_in("No space left on device", shell(INGOT_PROGRAM " compile " + mlp() + " -o - >/dev/full").err);
  for (const std::string other : {"--weights external", "--emit=loop", "--dump-after trace"}) {
    const Ran r = ingot("compile " + mlp() + " -o - " + other);
    EXPECT_EQ(r.status, 1) << other;
    EXPECT_EQ(r.out, "");
  }
}

TEST_F(CommandLine, SizesAndTimesHaveThreeDigits) {
  const Ran compiled = ingot("compile " + mlp() + " -o " + file("m.so") + " --time");
  EXPECT_TRUE(std::regex_search(compiled.out, std::regex("m\\.so: [0-9.]{3,4} (KB|MB), compiled in [0-9.]{3,4} (ms|s)\n")))
      << compiled.out;
  EXPECT_TRUE(std::regex_search(compiled.out, std::regex("\nlink +[0-9.]{3,4} (µs|ms|s)\n"))) << compiled.out;
  EXPECT_TRUE(std::regex_search(ingot("run " + file("m.so") + " --random").out, std::regex("\nran in [0-9.]{3,4} (µs|ms|s) ")));
  EXPECT_TRUE(std::regex_search(ingot("inspect " + file("m.so")).out, std::regex(", [0-9.]{3,4} (KB|MB)\n")));
  EXPECT_TRUE(std::regex_search(ingot("inspect " + mlp()).out, std::regex("parameters  4 \\(9610 elements, 38\\.4 KB\\)")));
}

TEST_F(CommandLine, ModelsOfAPackageAreNamedWithAnOption) {
  const std::string so = library();
  ASSERT_EQ(ingot("package a=" + so + " b=" + so + " -o " + file("two.pt2")).status, 0);
  for (const std::string verb : {"run ", "bench ", "inspect "}) {
    const Ran r = ingot(verb + file("two.pt2"));
    EXPECT_EQ(r.status, 1);
    expect_in("has several models; name one of them (--model on the command line): a, b", r.err);
    EXPECT_EQ(lines(r.err), 1u) << r.err;
  }
  expect_in("(--model on the command line)", ingot("run " + file("two.pt2") + " --model c").err);
  expect_in("name one of them (--model on the command line): ", ingot("graph " + golden("entries/lm.pt2")).err);
}

// A library for another machine is read from its file, and says there what it says when it is
// loaded.
TEST_F(CommandLine, LibrariesOfEveryMachineAreInspected) {
  const std::string here =
#ifdef __x86_64__
                        "x86_64",
                    there = "aarch64";
#else
                        "aarch64",
                    there = "x86_64";
#endif
  for (const std::string model : {"mlp", "gpt_tiny", "dynamic_shapes"}) {
    std::string said[2];
    for (const std::string& machine : {here, there}) {
      const std::string so = file(machine + ".so");
      const Ran r =
          ingot("compile " + golden("models/" + model + "/model.pt2") + " -o " + so + " --target " + machine + "-linux-gnu");
      ASSERT_EQ(r.status, 0) << r.err;
      const Ran json = ingot("inspect --json " + so);
      ASSERT_EQ(json.status, 0) << json.err;
      const JsonDocument document(json.out, "stdout");
      const Json root = document.root();
      EXPECT_EQ(root.field("machine").string(), machine);
      EXPECT_GT(root.field("library_bytes").integer(), 10000);
      EXPECT_FALSE(root.field("levels").list().empty());
      std::string& all = said[machine == there];
      for (const char* part : {"name", "inputs", "outputs", "symbols", "guards", "weights_file"}) all += root.field(part).dump();
      // Of folded constants only those that are loaded know more than their names.
      for (const Json& c : root.field("constants").list())
        if (c.field("kind").string() != "folded constant") all += c.dump();
      const Ran text = ingot("inspect " + so);
      expect_in(" for " + machine + ", ", text.out);
      expect_in("inputs\n", text.out);
    }
    EXPECT_EQ(said[0], said[1]) << model;
    ASSERT_EQ(ingot("package " + file(there + ".so") + " -o " + file("p.pt2") + " --metadata version=3").status, 0);
    const Ran package = ingot("inspect " + file("p.pt2"));
    expect_in(" for " + there + ", ", package.out);
    expect_in("version = 3\n", package.out);
  }
  // Cut off, it is refused in words.
  put("half.so", contents(file(there + ".so")).substr(0, 5000));
  const Ran half = ingot("inspect " + file("half.so"));
  EXPECT_EQ(half.status, 1);
  expect_in("damaged or cut off", half.err);
}

TEST_F(CommandLine, AKilledRunOfAPackageLeavesNothing) {
  library("ext.so", "--weights external");
  ASSERT_EQ(ingot("package " + library() + " ext=" + file("ext.so") + " -o " + file("p.pt2")).status, 0);
  fs::create_directory(file("temporary"));
  for (const std::string& verb :
       {"run " + file("p.pt2") + " --model mlp --random", "run " + file("p.pt2") + " --model ext --random",
        "bench " + file("p.pt2") + " --model ext --seconds 30"})
    for (const std::string after : {"0.01", "0.03", "0.1", "0.3"}) {
      shell("TMPDIR=" + file("temporary") + " timeout -s KILL " + after + " " INGOT_PROGRAM " " + verb);
      EXPECT_TRUE(fs::is_empty(file("temporary"))) << verb;
    }
  EXPECT_EQ(shell("TMPDIR=" + file("temporary") + " " INGOT_PROGRAM " run " + file("p.pt2") + " --model ext --random").status, 0);
  // Nor does it need a folder for temporary files.
  EXPECT_EQ(shell("TMPDIR=/nowhere " INGOT_PROGRAM " run " + file("p.pt2") + " --model ext --random").status, 0);
}

TEST_F(CommandLine, AFolderThatForbidsExecutionIsNamed) {
  if (std::system("unshare -m true 2>/dev/null") != 0) GTEST_SKIP() << "only root mounts a folder that forbids execution";
  const std::string so = library(), folder = file("noexec");
  ASSERT_EQ(ingot("package " + so + " -o " + file("p.pt2")).status, 0);
  fs::create_directory(folder);
  const auto there = [&](const std::string& command) {
    return shell("unshare -m sh -c 'mount -t tmpfs -o noexec none " + folder + " && cp " + so + " " + folder + " && " + command +
                 "'");
  };
  const Ran plain = there(INGOT_PROGRAM " run " + folder + "/mlp.so --random");
  EXPECT_EQ(plain.status, 1);
  expect_in("the folder " + folder + " forbids execution", plain.err);
  const Ran package = there("TMPDIR=" + folder + " " INGOT_PROGRAM " run " + file("p.pt2") + " --random");
  EXPECT_EQ(package.status, 0) << package.err;
}

TEST_F(CommandLine, ABadNumberOfThreadsIsAnError) {
  const std::string so = library();
  for (const std::string bad : {"many", "0", "-1", "2.5"})
    for (const std::string& verb : {"run " + so + " --random", "compile " + mlp() + " -o " + file("m.so"), "graph " + mlp()}) {
      const Ran r = shell("INGOT_NUM_THREADS=" + bad + " " INGOT_PROGRAM " " + verb);
      EXPECT_EQ(r.status, 1) << verb;
      EXPECT_EQ(r.err, "ingot: error: INGOT_NUM_THREADS: expected a whole number from 1, found '" + bad + "'\n");
    }
  EXPECT_FALSE(fs::exists(file("m.so")));
  EXPECT_EQ(shell("INGOT_NUM_THREADS=many " INGOT_PROGRAM " run --help").status, 0);
  expect_in("1 thread)", shell("INGOT_NUM_THREADS=1 " INGOT_PROGRAM " bench " + so + " --seconds 0").out);
}

TEST_F(CommandLine, BenchSaysWhatItRanOn) {
  const std::string shapes = golden("models/dynamic_shapes/model.pt2");
  ASSERT_EQ(ingot("compile " + shapes + " -o " + file("d.so")).status, 0);
  const JsonDocument about(ingot("inspect --json " + file("d.so")).out, "stdout");
  const std::string symbol(about.root().field("symbols").list().at(0).field("name").string());
  const std::string quick = " --seconds 0.01 --warm-up 0 ";
  const Ran text = ingot("bench " + file("d.so") + quick + "--sizes " + symbol + "=3,5");
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(lines(text.out), 4u) << text.out;
  expect_in("[3, ", text.out);
  expect_in("[5, ", text.out);
  for (const char* part : {"p50 ", "p90 ", "p99 ", "min ", "mean ", " runs, "}) expect_in(part, text.out);
  EXPECT_TRUE(std::regex_search(text.out, std::regex("p50 [0-9.]{3,4} (ns|µs|ms)"))) << text.out;

  const Ran json = ingot("bench " + file("d.so") + quick + "--size " + symbol + "=3,5 -c 3 --json");
  const JsonDocument document(json.out, "stdout");
  EXPECT_EQ(document.root().field("clients").integer(), 3);
  EXPECT_GE(document.root().field("runs").integer(), 30) << "each client ran ten times";
  const std::vector<Json> measured = document.root().field("measured").list();
  ASSERT_EQ(measured.size(), 2u);
  for (const Json& m : measured) {
    EXPECT_LE(m.field("median_s").real(), m.field("p90_s").real());
    EXPECT_LE(m.field("p90_s").real(), m.field("p99_s").real());
    EXPECT_GT(m.field("runs_per_s").real(), 0);
  }
  EXPECT_NE(measured[0].field("inputs").list().at(0).string(), measured[1].field("inputs").list().at(0).string());
  EXPECT_EQ(ingot("bench " + file("d.so") + quick + "--sizes " + symbol + "=3,x").status, 1);
  expect_in("3 clients, ", ingot("bench " + file("d.so") + quick + "-c 3").out);
}

}  // namespace
}  // namespace ingot
