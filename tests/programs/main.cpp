// Runs random programs eagerly and in another way until they differ:
//   ingot_program_fuzz WAY [COUNT [FIRST_SEED]]     COUNT programs, or as many as fit into COUNT seconds if an s follows it
//   ingot_program_fuzz WAY show SEED   prints the program of a seed, in words, as C++, Python and as a graph
//   ingot_program_fuzz WAY cpp SEED...   the C++ alone, of each in a namespace (tests/data/printed_programs.inc is made of it)
//   ingot_program_fuzz WAY record COUNT FIRST_SEED   prints programs for scripts/torch_programs.py, which asks PyTorch about them
//   ingot_program_fuzz refusals record COUNT FIRST_SEED   the same for calls that were left out of programs: eager refuses them
// functionalize: as a functional program, and as its graph; aot: compiled ahead of time, op by op;
// aot-keep: with writes to inputs in the graph where they can be; aot-min-cut: with the other
// partitioner; aot-budget: with as little memory for activations as it can do with. These run
// programs of views and writes; with `wide-` before it, of every family of ops. compiled: machine
// code for open sizes, at several of them; compiled-grad: forward and backward as machine code;
// compiled-open-grad: at several sizes. aliases-compiled, aliases-open, aliases-compiled-grad and
// aliases-open-grad: the same of programs of views and writes. long, long-grad and long-open-grad:
// of few calls over long rows. layers- before a way: of networks' layers, with weights and buffers
// that are updated. Programs that differ are printed as small as they get, in words, as C++ and as
// a graph, and the exit status is 1. At the end stands how many programs of each class there were.
// With INGOT_REFUSED in the environment every refusal is printed, a line each. INGOT_SHOWN: how
// many programs that differ are made small.
#include <algorithm>
#include <cctype>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <unistd.h>

#include "base/error.hpp"
#include "compiled_programs/compare_compiled.hpp"
#include "support/compare_aot.hpp"
#include "support/program_record.hpp"
#include "support/seen.hpp"

namespace {

using namespace ingot;
using namespace ingot::testing;

struct Way {
  Program (*make)(uint64_t seed);
  Comparison (*compare_unguarded)(const Program& p);

  // What ends a comparison is a difference, and not the end of the run.
  Comparison compare(const Program& p) const {
    try {
      return compare_unguarded(p);
    } catch (const std::exception& e) {
      return {Agreement::differs, text("threw ", e.what())};
    }
  }
};

// What the bases hold at the first sizes, those of at most 64 numbers.
std::string values_text(const Program& p) {
  std::string out;
  const TensorList bases = make_inputs(p, {.gradients = false}).bases;
  for (std::size_t b = 0; b < bases.size(); b++) {
    if (p.wrapped || bases[b].numel().value() > 64) continue;
    out += text("base ", b, " = {");
    for (const double x : numbers(bases[b])) {
      char digits[32];
      std::snprintf(digits, sizeof digits, " %.9g", x);
      out += digits;
    }
    out += " }\n";
  }
  return out;
}

Program wide(uint64_t seed) { return wide_program(seed); }
Program wide_open(uint64_t seed) { return wide_program(seed, {.open = true, .writes = seed % 2 == 0}); }

Program layers(uint64_t seed) { return wide_program(seed, {.layers = true}); }
Program layers_open(uint64_t seed) { return wide_program(seed, {.open = true, .writes = seed % 2 == 0, .layers = true}); }

template <AotWay W>
Comparison aot_compared(const Program& p) {
  return compare_aot(p, W);
}
std::map<SettingAgreement, long long> settings;  // of the sizes of compiled programs
template <CompiledComparison (*Compare)(const Program& p)>
Comparison compiled(const Program& p) {
  const CompiledComparison c = Compare(p);
  for (const auto& [kind, n] : c.settings) settings[kind] += n;
  return c;
}

const std::map<std::string, Way> kWays = {
    {"functionalize", {random_program, compare_functionalized}},
    {"aot", {random_program, aot_compared<AotWay::plain>}},
    {"aot-keep", {random_program, aot_compared<AotWay::keep>}},
    {"aot-min-cut", {random_program, aot_compared<AotWay::min_cut>}},
    {"aot-budget", {random_program, aot_compared<AotWay::budget>}},
    {"wide-functionalize", {wide, compare_functionalized}},
    {"wide-aot", {wide, aot_compared<AotWay::plain>}},
    {"wide-aot-keep", {wide, aot_compared<AotWay::keep>}},
    {"wide-aot-min-cut", {wide, aot_compared<AotWay::min_cut>}},
    {"wide-aot-budget", {wide, aot_compared<AotWay::budget>}},
    {"aliases-compiled", {random_program, compiled<compare_compiled>}},
    {"aliases-compiled-grad", {random_program, compare_compiled_with_gradients}},
    {"aliases-open", {open_random_program, compiled<compare_compiled>}},
    {"aliases-open-grad", {open_random_program, compiled<compare_open_with_gradients>}},
    {"long", {open_long_rows_program, compiled<compare_compiled>}},
    {"long-grad", {long_rows_program, compare_compiled_with_gradients}},
    {"long-open-grad", {open_long_rows_program, compiled<compare_open_with_gradients>}},
    {"layers-functionalize", {layers, compare_functionalized}},
    {"layers-aot-min-cut", {layers, aot_compared<AotWay::min_cut>}},
    {"layers-compiled", {layers_open, compiled<compare_compiled>}},
    {"layers-compiled-grad", {layers, compare_compiled_with_gradients}},
    {"layers-open-grad", {layers_open, compiled<compare_open_with_gradients>}},
    {"compiled", {wide_open, compiled<compare_compiled>}},
    {"compiled-grad", {wide, compare_compiled_with_gradients}},
    {"compiled-open-grad", {wide_open, compiled<compare_open_with_gradients>}},
};

// What went wrong, without which tensor it was and by how much, so that what is made smaller stays
// the same fault.
std::string kind_of(const std::string& what) {
  if (what.find("strides") != std::string::npos) return "facts";
  const bool numbers = what.find("off by") != std::string::npos;
  if (numbers) return what.find("gradient") != std::string::npos ? "gradients" : "values";
  std::string kind;
  for (const char c : what.substr(0, 80))
    if (!std::isdigit(static_cast<unsigned char>(c))) kind += c;
  return kind;
}

int usage() {
  std::fprintf(stderr, "usage: ingot_program_fuzz WAY [COUNT [FIRST_SEED]], where WAY is one of:");
  for (const auto& [name, way] : kWays) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\n");
  return 2;
}

int record_programs(const std::string& name, const Way& way, long long count, long long first) {
  for (long long seed = first; seed < first + count; seed++) {
    const Program p = way.make(static_cast<uint64_t>(seed));
    std::printf("%s\n", program_record(p, way.compare(p), name != "compiled").c_str());
  }
  return 0;
}
int record_refusals(long long count, long long first) {
  const auto print = [](const Program& p, const std::string& why) { std::printf("%s\n", refusal_record(p, why).c_str()); };
  for (long long seed = first; seed < first + count; seed++) wide_program(static_cast<uint64_t>(seed), {.refused = print});
  return 0;
}

template <class Counts>
void print_counts(const Counts& counts) {
  for (const auto& [kind, n] : counts) std::printf("%9lld %s\n", n, name_of(kind));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const bool records = argc > 4 && std::string(argv[2]) == "record";
  if (records && name == "refusals") return record_refusals(std::atoll(argv[3]), std::atoll(argv[4]));
  const auto at = kWays.find(name);
  if (at == kWays.end()) return usage();
  const Way& way = at->second;
  if (records) return record_programs(name, way, std::atoll(argv[3]), std::atoll(argv[4]));
  if (argc > 3 && std::string(argv[2]) == "show") {
    const Program p = way.make(static_cast<uint64_t>(std::atoll(argv[3])));
    std::printf("%s\n", to_text(p).c_str());  // first, as it does not run the program
    std::printf("%s\n%s\n%s\n", to_cpp(p).c_str(), to_python(p).c_str(), to_fx(p).c_str());
    return 0;
  }
  if (argc > 3 && std::string(argv[2]) == "cpp") {
    std::string prefix = name + "_";
    std::replace(prefix.begin(), prefix.end(), '-', '_');
    for (int k = 3; k < argc; k++)
      std::printf("%s", to_cpp(way.make(static_cast<uint64_t>(std::atoll(argv[k]))), prefix + argv[k]).c_str());
    return 0;
  }
  const bool timed = argc > 2 && std::string(argv[2]).ends_with('s');
  const double limit = timed ? std::atof(argv[2]) : HUGE_VAL;
  long long count = timed ? LLONG_MAX / 2 : argc > 2 ? std::atoll(argv[2]) : 10000;
  const long long first = argc > 3 ? std::atoll(argv[3]) : 1;
  const int shown = std::getenv("INGOT_SHOWN") ? std::atoi(std::getenv("INGOT_SHOWN")) : 5;
  const bool refusals = std::getenv("INGOT_REFUSED") != nullptr;
  const bool progress = isatty(STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a crash takes nothing along
  std::map<Agreement, long long> found;
  std::map<GradientAgreement, long long> gradients;  // by result and input
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (long long seed = first; seed < first + count; seed++) {
    if (seconds() > limit) {
      count = seed - first;
      break;
    }
    if (progress && (seed - first) % 100 == 0) std::fprintf(stderr, "\r%lld of %lld", seed - first, count);
    const Program p = way.make(static_cast<uint64_t>(seed));
    const Comparison c = way.compare(p);
    found[c.agreement]++;
    for (const auto& [kind, n] : c.gradients) gradients[kind] += n;
    if (refusals && !c.what.empty())
      std::printf("seed %lld: %s: %s\n", seed, name_of(c.agreement), c.what.substr(0, c.what.find('\n')).c_str());
    if (c.agreement != Agreement::differs || found[c.agreement] > shown) continue;
    const Program small = shrink(p, [&](const Program& q) {
      const Comparison d = way.compare(q);
      return d.agreement == Agreement::differs && kind_of(d.what) == kind_of(c.what);
    });
    std::printf("seed %lld: %s\n%s%s\n%s\n%s\n", seed, way.compare(small).what.c_str(), to_text(small).c_str(),
                values_text(small).c_str(), to_cpp(small).c_str(), to_fx(small).c_str());
    std::fflush(stdout);
  }
  if (progress) std::fprintf(stderr, "\r");
  std::printf("%s: %lld programs from seed %lld in %.0f s\n", argv[1], count, first, seconds());
  print_counts(found);
  std::printf("gradients of their results and inputs:\n");
  print_counts(gradients);
  if (!settings.empty()) std::printf("settings of their sizes:\n");
  print_counts(settings);
  return found[Agreement::differs] == 0 ? 0 : 1;
}
