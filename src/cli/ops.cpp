// ingot ops: what is supported, and by which rules.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/verb.hpp"
#include "op/op.hpp"

namespace ingot {
namespace {

struct Options {
  std::string filter;
  bool json = false;
};

std::string_view form_name(Form f) {
  switch (f) {
    case Form::pointwise: return "pointwise";
    case Form::reduction: return "reduction";
    case Form::view: return "view";
    case Form::factory: return "factory";
    case Form::random: return "random";
    case Form::external: return "external";
    case Form::composite: return "composite";
    case Form::higher_order: return "higher-order";
  }
  return "";
}

// How results are made, and how gradients flow.
std::string_view eager_rule(const OpDef& d) { return d.kernel ? "kernel" : d.geometry ? "geometry" : "body"; }
std::string_view gradient_rule(const OpDef& d) {
  if (d.form == Form::composite) return "through its parts";
  if (d.vjp) return "vjp";
  if (d.form == Form::view && d.inverse) return "inverse";
  return d.no_grad_result ? "none" : "-";
}

void list(const Options& options) {
  bool first = true;
  if (options.json) std::cout << "[";
  for (const Op* o : all_ops()) {
    if (o->name.find(options.filter) == std::string::npos) continue;
    const OpDef& d = *o->def;
    const bool core = (' ' + std::string(aten_schema_tags(o->name)) + ' ').find(" core ") != std::string::npos;
    if (options.json) {
      std::cout << (first ? "\n" : ",\n") << R"(  {"name": ")" << o->name << R"(", "form": ")" << form_name(d.form) << R"(", "eager": ")"
                << eager_rule(d) << R"(", "gradient": ")" << gradient_rule(d) << R"(", "core": )" << (core ? "true" : "false") << "}";
    } else {
      std::printf("%-52s %-12s %-9s %s\n", o->name.c_str(), std::string(form_name(d.form)).c_str(), std::string(eager_rule(d)).c_str(),
                  std::string(gradient_rule(d)).c_str());
    }
    first = false;
  }
  if (options.json) std::cout << "\n]\n";
}

}  // namespace

void add_ops_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("ops", "list the supported ops: name, form, how results are made, how gradients flow");
  verb->add_option("filter", options->filter, "only names that contain this");
  verb->add_flag("--json", options->json, "print a JSON array");
  verb->footer("in-place (`add_`) and out= variants are derived and not listed\n\nexamples:\n  ingot ops\n  ingot ops layer_norm --json");
  verb->callback([options] { list(*options); });
}

}  // namespace ingot
