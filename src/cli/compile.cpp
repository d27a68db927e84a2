// ingot compile: an exported program to a shared library.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <map>
#include <memory>
#include <set>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "cli/key_value.hpp"
#include "cli/number_check.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"
#include "compiler/object_header.hpp"
#include "compiler/pipeline.hpp"
#include "format/load.hpp"
#include "io/file.hpp"
#include "io/json_writer.hpp"
#include "io/safetensors.hpp"
#include "loop/text.hpp"
#include "program/join.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using WeightsKind = Model::Weights::Kind;

struct CompileVerb {
  std::vector<std::string> files, models;
  std::string output, prefix, target = "native", weights_from, dump_after;  // output: where it is while it is made
  std::vector<std::string> cpus, emit, skip, metadata;
  WeightsKind weights = WeightsKind::embedded;
  int threads = 0;
  bool time = false, json = false, debug = false;
  bool makes_object() const { return std::ranges::find(emit, "object") != emit.end(); }
};

// What --emit asks for: texts on the way to the library, which are written beside it once it is
// there.
class Texts {
 public:
  explicit Texts(const CompileVerb& o) : wanted_(o.emit.begin(), o.emit.end()), several_(o.cpus.size() > 1) {
    const std::string extension = fs::path(o.output).extension().string();
    stem_ =
        extension == ".so" || extension == ".o" || extension == ".a" ? fs::path(o.output).replace_extension().string() : o.output;
  }
  bool wants(const char* kind) const { return wanted_.contains(kind); }
  bool wants_code() const { return wants("llvm") || wants("asm"); }
  // `entry` and `level` where there is a text for each.
  void add(const std::string& kind, const char* extension, const std::string& entry, const std::string& level,
           const std::string& text) {
    if (!wanted_.contains(kind)) return;
    files_[stem_ + (entry.empty() ? "" : "." + entry) + (several_ && !level.empty() ? "." + level : "") + extension] = text;
  }
  // `read`: what none of them may replace.
  std::vector<std::string> write(const std::vector<std::string>& read) const {
    std::vector<std::string> written;
    for (const auto& [path, text] : files_) written.push_back(path);
    require_apart(written, read);
    for (const auto& [path, text] : files_) {
      PendingFile file(path);
      file.write(text);
      file.commit();
    }
    return written;
  }

 private:
  std::set<std::string> wanted_;
  bool several_;
  std::string stem_;
  std::map<std::string, std::string> files_;
};

struct Stage {
  std::string name;
  double seconds;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<Target> targets_of(const CompileVerb& o) {
  std::vector<Target> targets;
  for (const std::string& cpu : o.cpus) targets.push_back(parse_target(o.target, cpu));
  if (targets.empty()) targets.push_back(parse_target(o.target));
  return targets;
}

// The stages that a compilation comes by, in order: what --time lists, the progress bar counts, and
// --dump-after and --skip take. Those of every entry and level are there once for each.
std::vector<std::string_view> stages_of(bool is_loop, const CompileOptions& options, std::size_t entries) {
  std::vector<std::string_view> names = is_loop ? compile_loop_stages(options) : compile_stages(options, entries);
  names.insert(names.begin(), "read");
  return names;
}
std::string listed(const std::vector<std::string_view>& names) {
  std::set<std::string_view> seen;
  std::string all;
  for (const std::string_view n : names)
    if (seen.insert(n).second) all += (all.empty() ? "" : ", ") + std::string(n);
  return all;
}

// User error where no stage has the name.
void require_stage(const std::string& name, const std::vector<std::string_view>& names) {
  INGOT_REQUIRE(std::ranges::find(names, std::string_view(name)) != names.end(), "--dump-after ", name,
                ": there is no such stage; the stages are ", listed(names));
}

// User error where one of those that are to be skipped cannot be.
void require_skipped(const CompileOptions& options) {
  INGOT_REQUIRE(!options.skip.contains("read"), "stage 'read' cannot be skipped: there is no library without it; those that ",
                "can be skipped are ", listed(skippable_stages()));
  require_skippable(options);
}

// Weights that the program's file leaves out.
void supply_weights(Program& program, const std::string& path) {
  const SafeTensors file = SafeTensors::open(path);
  for (const auto& [name, entry] : program.state)
    if (!entry.tensor.defined() && file.contains(name)) program.supply(name, file.get(name));
}

// A loop program as --dump-after and --emit write it.
bool is_loop_text(const std::string& path) { return path.ends_with(".loop") || path.ends_with(".loop.txt"); }

// User error for what only graphs have.
void require_loop_options(const CompileVerb& o) {
  INGOT_REQUIRE(o.files.size() == 1, "expected one loop program, which is a library of its own, found ", o.files.size(),
                " files");
  const std::vector<std::string_view> stages = compile_loop_stages({});
  const bool skips_pass = std::ranges::any_of(
      o.skip, [&](const std::string& name) { return std::ranges::find(stages, std::string_view(name)) == stages.end(); });
  const std::string what = !o.models.empty()                                    ? "--model"
                           : skips_pass                                         ? "--skip"
                           : o.debug                                            ? "--debug"
                           : std::ranges::find(o.emit, "graph") != o.emit.end() ? "--emit graph"
                                                                                : "";
  INGOT_REQUIRE(what.empty(), o.files[0], ": a loop program has no graph, which ", what, " is about");
}

void compile_loop_text(const CompileVerb& o, const CompileOptions& options, std::chrono::steady_clock::time_point start) {
  const std::string& path = o.files[0];
  loop::Program program;
  try {
    program = loop::parse_program(MappedFile::open(path)->bytes());
  } catch (const UserError& e) {
    throw_user_error(text(path, ": ", e.what()));
  }
  std::map<std::string, Tensor> constants;
  if (!o.weights_from.empty()) {
    const SafeTensors file = SafeTensors::open(o.weights_from);
    for (const int b : program.constants)
      if (const std::string& name = program.buffers[static_cast<std::size_t>(b)].name; file.contains(name))
        constants.emplace(name, file.get(name));
  }
  options.after({"read", seconds_since(start), {}});
  compile(program, constants, o.output, options);
}

void print_json(const CompileVerb& o, const OutputFile& output, double seconds, const std::vector<Stage>& stages,
                const std::vector<std::string>& texts) {
  JsonWriter w(true);
  w.begin_object().field(o.makes_object() ? "object" : "library", output.given()).field("bytes", fs::file_size(output.path()));
  if (o.makes_object()) w.field("header", header_of(o.output)).field("prefix", o.prefix);
  if (o.weights == WeightsKind::external) {
    const std::string file = o.output + ".safetensors";
    w.field("weights", file).field("weights_bytes", fs::file_size(file));
  }
  w.key("texts").begin_list();
  for (const std::string& file : texts) w.value(file);
  w.end();
  w.field("seconds", seconds).key("stages").begin_list();
  for (const Stage& s : stages) w.begin_object().field("name", s.name).field("seconds", s.seconds).end();
  std::cout << w.end().end().take() << '\n';
}

void print_text(const CompileVerb& o, const OutputFile& output, double seconds, const std::vector<Stage>& stages,
                const std::vector<std::string>& texts) {
  if (o.time)
    for (const Stage& s : stages) std::printf("%-12s %s\n", s.name.c_str(), seconds_text(s.seconds).c_str());
  std::printf("%s: %s, compiled in %s\n", output.given().c_str(), bytes_text(fs::file_size(output.path())).c_str(),
              seconds_text(seconds).c_str());
  if (o.makes_object()) std::printf("%s: its header, %s_run and the others\n", header_of(o.output).c_str(), o.prefix.c_str());
  if (o.weights == WeightsKind::external) {
    const std::string file = o.output + ".safetensors";
    std::printf("%s: %s, its weights\n", file.c_str(), bytes_text(fs::file_size(file)).c_str());
  }
  for (const std::string& file : texts) std::printf("%s\n", file.c_str());
}

// An entry point of the library, and where its program is.
struct EntryFile {
  std::string name, file, model;
};

// NAME=FILE is an entry point of that name; a file that is called so is a file.
std::pair<std::string, std::string> named_file(const std::string& argument) {
  const std::size_t sign = argument.find('=');
  const std::string name = argument.substr(0, sign);
  const bool is_name = sign != std::string::npos && !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
                         return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
                       });
  if (!is_name || fs::exists(argument)) return {"", argument};
  return {name, argument.substr(sign + 1)};
}

// One entry a file or, of one file, one a model.
std::vector<EntryFile> entry_files(const CompileVerb& o) {
  std::vector<EntryFile> entries;
  if (o.files.size() == 1) {
    const auto [name, file] = named_file(o.files[0]);
    if (o.models.size() < 2) return {{name.empty() ? "forward" : name, file, o.models.empty() ? "" : o.models[0]}};
    INGOT_REQUIRE(name.empty(), o.files[0], ": several models of one file are entry points of their own names; leave '", name,
                  "=' out");
    for (const std::string& model : o.models) entries.push_back({model, file, model});
    return entries;
  }
  INGOT_REQUIRE(o.models.empty(), "--model: expected one file, found ", o.files.size());
  for (const std::string& argument : o.files) {
    const auto [name, file] = named_file(argument);
    entries.push_back({name.empty() ? fs::path(file).stem().string() : name, file, ""});
  }
  return entries;
}

// `read`: what the files are as one program, for the caller to let go of when nobody waits any
// more.
void compile_files(const CompileVerb& o, const std::vector<EntryFile>& entries, const CompileOptions& options,
                   std::chrono::steady_clock::time_point start, std::optional<Program>& read) {
  std::vector<Program> programs;
  for (const EntryFile& e : entries) {
    programs.push_back(load_program(e.file, e.model));
    programs.back().main().name = e.name;
    if (!o.weights_from.empty()) supply_weights(programs.back(), o.weights_from);
  }
  read = join(std::move(programs));
  options.after({"read", seconds_since(start), {}});
  compile(*read, o.output, options);
}

// User error for what makes files beside the library, where the library is for standard output.
void require_one_output(const CompileVerb& o) {
  const char* other = o.weights == WeightsKind::external ? "--weights external"
                      : !o.emit.empty()                  ? "--emit"
                      : !o.dump_after.empty()            ? "--dump-after"
                                                         : nullptr;
  INGOT_REQUIRE(o.output != "-" || !other, "-o -: the library goes to standard output, where ", other ? other : "",
                " has no place; name a file");
}

// A name that C functions can begin with, like the file's.
std::string usual_prefix(const std::string& output) {
  std::string prefix = fs::path(output).stem().string();
  for (char& c : prefix) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return prefix.empty() || std::isdigit(static_cast<unsigned char>(prefix[0])) ? "model_" + prefix : prefix;
}

void run(CompileVerb& o) {
  const auto start = std::chrono::steady_clock::now();
  const bool is_loop = std::ranges::any_of(o.files, is_loop_text);
  CompileOptions options;
  options.skip = {o.skip.begin(), o.skip.end()};
  require_skipped(options);
  if (is_loop) require_loop_options(o);
  const std::vector<EntryFile> entries = entry_files(o);
  std::optional<Program> program;
  const std::string usual_name = fs::path(entries[0].file).stem().string() + (o.makes_object() ? ".o" : ".so");
  if (o.output.empty()) o.output = usual_name;
  INGOT_REQUIRE(o.prefix.empty() || o.makes_object(), "--prefix: expected --emit=object, whose functions it begins the names of");
  if (o.makes_object() && o.prefix.empty()) o.prefix = usual_prefix(o.output);
  std::vector<std::string> read = {o.weights_from};
  for (const EntryFile& e : entries) read.push_back(e.file);
  require_apart({o.output, o.output + ".safetensors"}, read);
  if (o.makes_object()) require_apart({header_of(o.output)}, read);
  require_one_output(o);
  if (o.makes_object()) require_header_place(header_of(o.output), o.output);  // before the work
  OutputFile output(o.output, usual_name);
  o.output = output.path();
  if (o.threads > 0) set_num_threads(o.threads);
  options.targets = targets_of(o);
  options.weights = o.weights;
  options.debug_info = o.debug;
  options.object_prefix = o.prefix;
  for (const std::string& entry : o.metadata) {
    const auto [key, value] = key_and_value("--metadata", entry);
    INGOT_REQUIRE(options.metadata.emplace(key, value).second, "--metadata ", entry, ": the key has a value already");
  }
  Texts texts(o);
  if (texts.wants_code())
    options.code = [&](const std::string& level, const CodeText& code) {
      texts.add("llvm", ".ll", "", level, code.llvm);
      texts.add("asm", ".s", "", level, code.assembly);
    };
  const std::vector<std::string_view> names = stages_of(is_loop, options, entries.size());
  if (!o.dump_after.empty()) require_stage(o.dump_after, names);
  std::vector<Stage> stages;
  std::string dump;
  std::size_t traced = 0, scheduled = 0;
  const auto entry_of = [&](std::size_t k) { return entries.size() > 1 ? entries[k].name : std::string(); };
  {
    ProgressBar bar("compiling", names.size());
    const auto show = [&] { bar.show(stages.size(), stages.size() < names.size() ? names[stages.size()] : ""); };
    show();
    options.after = [&](const StageDone& done) {
      stages.push_back({std::string(done.name), done.seconds});
      if (done.name == o.dump_after) dump += done.text ? done.text() : std::string();
      if (done.name == "trace" && texts.wants("graph")) texts.add("graph", ".graph.txt", entry_of(traced++), "", done.text());
      if (done.name == "schedule" && texts.wants("loop")) {
        texts.add("loop", ".loop.txt", entry_of(scheduled % entries.size()), options.targets[scheduled / entries.size()].cpu,
                  done.text());
        scheduled++;
      }
      show();
    };
    try {
      is_loop ? compile_loop_text(o, options, start) : compile_files(o, entries, options, start, program);
    } catch (...) {
      std::cout << dump;  // whoever looks for what went wrong in a later stage
      throw;
    }
  }
  if (!o.dump_after.empty()) {
    INGOT_REQUIRE(!dump.empty(), "--dump-after ", o.dump_after, ": this stage has no text form");
    std::cout << dump;
    return;
  }
  const double seconds = seconds_since(start);
  const std::vector<std::string> written = texts.write(read);
  output.deliver();
  o.json ? print_json(o, output, seconds, stages, written) : print_text(o, output, seconds, stages, written);
}

}  // namespace

void add_compile_verb(CLI::App& app) {
  auto o = std::make_shared<CompileVerb>();
  CLI::App* verb = app.add_subcommand("compile", "compile an exported program into a shared library");
  verb->add_option(
          "file", o->files,
          "a .pt2 file, or a .loop text (docs/ir.md); of several .pt2 files, [NAME=]FILE each, every one is an entry point of the "
          "library, over one set of weights")
      ->required();
  verb->add_option("-o,--output", o->output, "the library; the program's name with .so otherwise; - for standard output");
  verb->add_option("--model", o->models,
                   "the program's name, where the file has several; of several names, each is an entry point")
      ->delimiter(',');
  verb->add_option("--target", o->target, "native, x86_64-linux-gnu or aarch64-linux-gnu")->capture_default_str();
  verb->add_option("--cpu", o->cpus,
                   "the processor, as LLVM names it (x86-64-v3, neoverse-n1); several, best first, go into one file")
      ->delimiter(',');
  verb->add_option("--weights", o->weights,
                   "embed: in the library; append: behind it in the same file, mapped when it is loaded; external: beside it, in "
                   "OUTPUT.safetensors; none: given when it is loaded")
      ->transform(CLI::CheckedTransformer(std::map<std::string, WeightsKind>{{"embed", WeightsKind::embedded},
                                                                             {"append", WeightsKind::appended},
                                                                             {"external", WeightsKind::external},
                                                                             {"none", WeightsKind::none}})
                      .description(""))
      ->type_name("WHERE")
      ->default_str("embed");
  verb->add_option("--weights-from", o->weights_from, "a .safetensors file with weights that the program's file leaves out");
  verb->add_option("--threads", o->threads, "to compile with; all processors otherwise")->check(at_least_one());
  verb->add_flag("--time", o->time,
                 "say how long each stage took: of what is done for several entries at once, its share of the time");
  verb->add_option("--dump-after", o->dump_after,
                   "print the program as text as it is after this stage of " + listed(stages_of(false, {}, 1)) +
                       "; what is bytes has no text");
  verb->add_option("--skip", o->skip, "leave these stages out, to find the one that is at fault: " + listed(skippable_stages()))
      ->delimiter(',');
  verb->add_option(
          "--emit", o->emit,
          "object: instead of a library an object file for programs to be linked with, or an archive of it (-o NAME.a), "
          "and a C header of the same name (NAME.h), which replaces none that Ingot did not write; graph, loop, llvm, asm: these "
          "texts too (OUTPUT.graph.txt, .loop.txt, .ll, .s)")
      ->delimiter(',')
      ->check(CLI::IsMember({"object", "graph", "loop", "llvm", "asm"}));
  verb->add_option(
      "--prefix", o->prefix,
      "with --emit=object: what the names of its functions begin with, so that several models go into one program; the "
      "file's name otherwise");
  verb->add_option("--metadata", o->metadata, "KEY=VALUE to keep in the library; repeat it for several");
  verb->add_flag("-g,--debug", o->debug,
                 "say in the library which line of the program a kernel computes, for debuggers and profilers");
  verb->add_flag("--json", o->json, "print a JSON object");
  verb->footer(
      "The library has the C interface of include/ingot/aoti.h and needs nothing but libc.\n\n"
      "examples:\n"
      "  ingot compile model.pt2 -o model.so\n"
      "  ingot compile model.pt2 --target x86_64-linux-gnu --cpu x86-64-v4,x86-64-v3,x86-64-v2\n"
      "  ingot compile model.pt2 --weights external --time\n"
      "  ingot compile prefill=prompt.pt2 decode=token.pt2 -o lm.so\n"
      "  ingot compile model.pt2 --metadata version=3\n"
      "  ingot compile model.pt2 --emit=loop,asm\n"
      "  ingot compile model.pt2 --emit=object -o mlp.o && cc main.c mlp.o -lm -pthread\n"
      "  ingot compile model.pt2 --dump-after schedule | less\n"
      "  ingot compile model.pt2 -o - | ssh far 'cat >model.so'\n"
      "  ingot compile kernel.loop -o kernel.so");
  verb->callback([o] { run(*o); });
}

}  // namespace ingot
