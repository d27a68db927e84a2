// The command line. Exit status: 0 done, 1 the user has to act, 2 the command line itself is wrong,
// 70 a defect of Ingot.
#include <CLI/CLI.hpp>
#include <iostream>

#include "base/error.hpp"
#include "cli/verb.hpp"

namespace ingot {
namespace {

constexpr Verb kVerbs[] = {
    add_compile_verb, add_run_verb,     add_bench_verb, add_inspect_verb, add_graph_verb,
    add_check_verb,   add_package_verb, add_ops_verb,   add_target_verb,
};

constexpr const char* kSummary =
    "ingot casts a tensor program into one self-contained shared library: machine code, weights and a C interface.";
constexpr const char* kExample =
    "example:\n"
    "  ingot compile model.pt2 -o model.so   one library: code, weights, C interface\n"
    "  ingot run model.so --input x.npy  run it\n"
    "  ingot bench model.so             how long does it take?\n"
    "  ingot inspect model.pt2          what a program takes, returns and holds\n"
    "  ingot graph model.pt2            its graph, as PyTorch FX prints it\n"
    "  ingot check model.pt2 case.safetensors   does it compute what PyTorch computed?\n"
    "  ingot ops sum                    the supported ops with sum in their name\n"
    "  ingot target native              what this machine's processor offers\n"
    "  ingot target aarch64-linux-gnu   what a model for that target may use\n"
    "\n"
    "`ingot VERB --help` explains a verb.";

int run_verb(int argc, char** argv) {
  CLI::App app(kSummary, "ingot");
  app.set_version_flag("--version", "ingot " INGOT_VERSION);
  app.footer(kExample);
  app.require_subcommand(0, 1);
  for (const Verb add : kVerbs) add(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();  // a verb has said what there is to say
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (app.get_subcommands().empty()) std::cout << app.help();
  return 0;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  try {
    return ingot::run_verb(argc, argv);
  } catch (const ingot::UserError& e) {
    std::cerr << "ingot: error: " << e.what() << '\n';
    return 1;
  } catch (const std::exception& e) {
    std::cerr << "ingot: internal error: " << e.what() << "\nThis is a defect of Ingot; please report it.\n";
    return 70;
  }
}
