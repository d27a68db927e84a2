// Runs random programs eagerly and transformed until they differ: ingot_program_fuzz [functionalize|aot|aot-keep|aot-min-cut|aot-budget] [COUNT [FIRST_SEED]].
// functionalize: as a functional program, and as its graph; aot: compiled ahead of time, op by op; aot-keep: with writes to inputs
// in the graph where they can be; aot-min-cut: with the other partitioner; aot-budget: with as little memory for activations as it can do
// with. Programs that differ are printed as small as they get, and the exit status is 1. The 2000 first seeds are in `make test`.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <unistd.h>

#include "base/error.hpp"
#include "support/compare_aot.hpp"

namespace {

using namespace ingot;
using namespace ingot::testing;

std::string way = "functionalize";

const std::map<std::string, AotWay> kAotWays = {
    {"aot", AotWay::plain}, {"aot-keep", AotWay::keep}, {"aot-min-cut", AotWay::min_cut}, {"aot-budget", AotWay::budget}};

Comparison compared(const Program& p) {
  if (const auto aot = kAotWays.find(way); aot != kAotWays.end()) return compare_aot(p, aot->second);
  try {
    return compare_functionalized(p);
  } catch (const std::exception& e) {
    return {Agreement::differs, text("threw ", e.what())};
  }
}

const char* name_of(Agreement a) {
  switch (a) {
    case Agreement::agrees: return "agree";
    case Agreement::refused_by_eager: return "agree in values; eager refuses the history of a result too";
    case Agreement::refused_as_strided: return "refused: a write through as_strided of a view (R052)";
    case Agreement::refused_storage: return "refused: as_strided of elements of a storage that the argument does not have";
    case Agreement::refused_backward: return "refused; eager refuses the backward";
    case Agreement::refused_histories: return "refused: histories on one storage";
    case Agreement::differs: return "differ";
  }
  return "";
}

const char* name_of(GradientAgreement a) {
  switch (a) {
    case GradientAgreement::no_history: return "nothing requires grad, or the program was refused";
    case GradientAgreement::agree: return "gradients agree";
    case GradientAgreement::both_refuse: return "both refuse the backward";
    case GradientAgreement::refused_by_eager: return "eager alone refuses the backward";
    case GradientAgreement::refused: return "functionalized alone refuses the backward";
  }
  return "";
}

template <class Counts>
void print_counts(const Counts& counts) {
  for (const auto& [kind, n] : counts) std::printf("%9lld %s\n", n, name_of(kind));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::isalpha(static_cast<unsigned char>(argv[1][0]))) {
    way = argv[1];
    if (way != "functionalize" && !kAotWays.contains(way)) {
      std::fprintf(stderr, "there is no way '%s': functionalize, aot, aot-keep, aot-min-cut, aot-budget\n", argv[1]);
      return 2;
    }
    argv++;
    argc--;
  }
  const long long count = argc > 1 ? std::atoll(argv[1]) : 200000, first = argc > 2 ? std::atoll(argv[2]) : 1;
  const bool progress = isatty(STDERR_FILENO);
  std::map<Agreement, long long> found;
  std::map<GradientAgreement, long long> gradients;
  for (long long seed = first; seed < first + count; seed++) {
    if (progress && (seed - first) % 1000 == 0) std::fprintf(stderr, "\r%lld of %lld", seed - first, count);
    const Program p = random_program(static_cast<uint64_t>(seed));
    const Comparison c = compared(p);
    found[c.agreement]++;
    gradients[c.gradients]++;
    if (c.agreement != Agreement::differs || found[c.agreement] > 5) continue;
    const Program small = shrink(p, [](const Program& q) { return compared(q).agreement == Agreement::differs; });
    std::printf("seed %lld: %s\n%s\n", seed, compared(small).what.c_str(), to_text(small).c_str());
  }
  if (progress) std::fprintf(stderr, "\r");
  print_counts(found);
  std::printf("of them, by the gradients of results and inputs:\n");
  print_counts(gradients);
  return found[Agreement::differs] == 0 ? 0 : 1;
}
