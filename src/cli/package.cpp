// ingot package: compiled models into one archive.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "cli/key_value.hpp"
#include "cli/output.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"
#include "io/json_writer.hpp"
#include "host/torch/package_loader.hpp"
#include "host/elf_file.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

struct PackageVerb {
  std::vector<std::string> models;    // FILE or NAME=FILE
  std::vector<std::string> metadata;  // KEY=VALUE
  std::string output;
  bool json = false;
};

// A model may be for another machine, so it is read and not loaded.
PackagedModel packaged(const std::string& argument, std::size_t count, const std::vector<std::string>& metadata) {
  PackagedModel m;
  const std::size_t at = argument.find('=');
  const bool is_named = at != argument.npos && argument.substr(0, at).find('/') == std::string::npos;
  m.library = is_named ? argument.substr(at + 1) : argument;
  m.name = is_named ? argument.substr(0, at) : count == 1 ? "model" : fs::path(argument).stem().string();
  PackageMetadata entries = machine_metadata("cpu", elf_machine(m.library));
  for (const std::string& entry : metadata) {
    auto [key, value] = key_and_value("--metadata", entry);
    entries.insert_or_assign(std::move(key), std::move(value));
  }
  JsonWriter w;
  w.begin_object();
  for (const auto& [key, value] : entries) w.field(key, value);
  m.metadata = w.end().take();
  const std::string weights = m.library + ".safetensors";
  if (fs::exists(weights)) m.weights = weights;
  return m;
}

void run(const PackageVerb& o) {
  std::vector<PackagedModel> models;
  for (const std::string& argument : o.models) models.push_back(packaged(argument, o.models.size(), o.metadata));
  std::vector<std::string> read;
  for (const PackagedModel& m : models) read.insert(read.end(), {m.library, m.weights});
  require_apart({o.output}, read);
  OutputFile output(o.output, "package.pt2");
  write_package(output.path(), models);
  output.deliver();
  const auto bytes = fs::file_size(output.path());
  if (o.json) {
    JsonWriter w(true);
    w.begin_object().field("package", o.output).field("bytes", bytes).key("models").begin_list();
    for (const PackagedModel& m : models)
      w.begin_object().field("name", m.name).field("library", m.library).field("weights", m.weights).end();
    std::cout << w.end().end().take() << '\n';
    return;
  }
  for (const PackagedModel& m : models)
    std::printf("%s  %s%s%s\n", m.name.c_str(), m.library.c_str(), m.weights.empty() ? "" : " and ", m.weights.c_str());
  std::printf("%s: %s\n", o.output.c_str(), bytes_text(bytes).c_str());
}

}  // namespace

void add_package_verb(CLI::App& app) {
  auto o = std::make_shared<PackageVerb>();
  CLI::App* verb = app.add_subcommand("package", "put compiled models into one package (.pt2)");
  verb->add_option("models", o->models,
                   "libraries; NAME=FILE gives one another name. A single one is called model, several by their files")
      ->required();
  verb->add_option("-o,--output", o->output, "the package; - for standard output")->required();
  verb->add_option("--metadata", o->metadata, "KEY=VALUE to keep with every model");
  verb->add_flag("--json", o->json, "print a JSON object");
  verb->footer(
      "Weights beside a library (FILE.so.safetensors) go along.\n\n"
      "examples:\n"
      "  ingot package model.so -o model_package.pt2\n"
      "  ingot package encoder=enc.so decoder=dec.so -o both.pt2 --metadata version=3");
  verb->callback([o] { run(*o); });
}

}  // namespace ingot
