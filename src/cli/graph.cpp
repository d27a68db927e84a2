// ingot graph: a program as text.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/verb.hpp"
#include "graph/text.hpp"
#include "format/load.hpp"

namespace ingot {
namespace {

struct GraphVerb {
  std::string file, model;
  bool readable = false;
};

}  // namespace

void add_graph_verb(CLI::App& app) {
  auto options = std::make_shared<GraphVerb>();
  CLI::App* verb = app.add_subcommand("graph", "print a program's graph, as PyTorch FX prints it");
  verb->add_option("file", options->file, "a .pt2 file")->required();
  verb->add_option("--model", options->model, "the program's name, where the file has several");
  verb->add_flag("--readable", options->readable,
                 "with element types, sizes, source lines and the graphs of higher-order operators");
  verb->footer("examples:\n  ingot graph model.pt2\n  ingot graph model.pt2 --readable | less");
  verb->callback([options] {
    const Program program = load_program(options->file, options->model);
    std::cout << print(program.main().graph, options->readable ? GraphForm::readable : GraphForm::plain);
  });
}

}  // namespace ingot
