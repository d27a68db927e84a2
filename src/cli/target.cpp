// ingot target: what a target's name stands for.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/verb.hpp"
#include "codegen/link.hpp"
#include "codegen/target.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

struct TargetVerb {
  std::string name = "native";
  std::string cpu;
  bool json = false;
};

void show(const TargetVerb& options) {
  const Target target = parse_target(options.name, options.cpu);
  if (options.json) {
    JsonWriter w(true);
    w.begin_object().field("triple", target.triple).field("cpu", target.cpu).field("features", target.features);
    std::cout << w.field("vector_bits", vector_bits(target)).field("kernels", kernel_archive(target)).end().take() << '\n';
    return;
  }
  std::cout << "triple    " << target.triple << '\n'
            << "cpu       " << target.cpu << '\n'
            << "features  " << target.features << '\n'
            << "vectors   " << vector_bits(target) << " bits\n"
            << "kernels   " << kernel_archive(target) << '\n';
}

}  // namespace

void add_target_verb(CLI::App& app) {
  auto options = std::make_shared<TargetVerb>();
  CLI::App* verb = app.add_subcommand("target", "show what a target stands for");
  verb->add_option("name", options->name, "native, x86_64-linux-gnu or aarch64-linux-gnu")->capture_default_str();
  verb->add_option("--cpu", options->cpu, "the processor, as LLVM names it; native for this machine's");
  verb->add_flag("--json", options->json, "print a JSON object");
  verb->footer("example:\n  ingot target x86_64-linux-gnu --cpu x86-64-v3");
  verb->callback([options] { show(*options); });
}

}  // namespace ingot
