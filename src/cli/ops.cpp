// ingot ops: what is supported, and by which rules.
#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>

#include "cli/verb.hpp"
#include "graph/source.hpp"
#include "format/load.hpp"
#include "io/json_writer.hpp"
#include "op/op.hpp"

namespace ingot {
namespace {

struct OpsVerb {
  std::string filter, missing;
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
std::string_view eager_rule(const OpDef& d) { return d.kernel ? "kernel" : d.view.geometry ? "geometry" : "body"; }
std::string_view gradient_rule(const OpDef& d) {
  if (d.form == Form::composite || d.form == Form::higher_order) return "through its parts";
  if (d.vjp) return "vjp";
  if (d.form == Form::view && d.view.inverse) return "inverse";
  return d.grad.none ? "none" : "-";
}

void list(const OpsVerb& options) {
  JsonWriter w(true);
  w.begin_list();
  for (const Op* o : all_ops()) {
    if (o->name.find(options.filter) == std::string::npos) continue;
    const OpDef& d = *o->def;
    const bool core = (' ' + std::string(aten_schema_tags(o->name)) + ' ').find(" core ") != std::string::npos;
    if (options.json) {
      w.begin_object().field("name", o->name).field("form", form_name(d.form)).field("eager", eager_rule(d));
      w.field("gradient", gradient_rule(d)).field("core", core).end();
    } else {
      std::printf("%-52s %-12s %-9s %s\n", o->name.c_str(), std::string(form_name(d.form)).c_str(),
                  std::string(eager_rule(d)).c_str(), std::string(gradient_rule(d)).c_str());
    }
  }
  if (options.json) std::cout << w.end().take() << '\n';
}

void list_missing(const OpsVerb& options) {
  const Program program = load_program(options.missing);
  std::map<std::string, std::vector<std::string>> missing;  // by target: the nodes that call it
  for (const Node* n : program.main().unsupported_nodes()) missing[n->target].push_back(n->name + provenance(*n));
  if (options.json) {
    JsonWriter w(true);
    w.begin_list();
    for (const auto& [target, nodes] : missing) {
      w.begin_object().field("target", target).key("nodes").begin_list();
      for (const std::string& n : nodes) w.value(n);
      w.end().end();
    }
    std::cout << w.end().take() << '\n';
  } else {
    for (const auto& [target, nodes] : missing) {
      std::cout << target << '\n';
      for (const std::string& n : nodes) std::cout << "    " << n << '\n';
    }
    if (missing.empty()) std::cout << "every operator of " << options.missing << " is supported\n";
  }
  if (!missing.empty()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_ops_verb(CLI::App& app) {
  auto options = std::make_shared<OpsVerb>();
  CLI::App* verb = app.add_subcommand("ops", "list the supported ops: name, form, how results are made, how gradients flow");
  verb->add_option("filter", options->filter, "only names that contain this");
  verb->add_option("--missing", options->missing,
                   "list what this .pt2 file uses and Ingot does not have; exit status 1 if anything");
  verb->add_flag("--json", options->json, "print a JSON array");
  verb->footer(
      "in-place (`add_`) and out= variants are derived and not listed\n\nexamples:\n  ingot ops\n  ingot ops layer_norm --json\n  ingot ops --missing model.pt2");
  verb->callback([options] { options->missing.empty() ? list(*options) : list_missing(*options); });
}

}  // namespace ingot
