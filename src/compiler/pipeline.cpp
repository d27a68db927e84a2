#include "compiler/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "backend/backend.hpp"
#include "base/checksum.hpp"
#include "base/error.hpp"
#include "base/library_metadata.hpp"
#include "base/parallel.hpp"
#include "codegen/eager_ops.hpp"
#include "codegen/link.hpp"
#include "compiler/constants.hpp"
#include "compiler/describe.hpp"
#include "compiler/function_program.hpp"
#include "compiler/loop_entry.hpp"
#include "compiler/maker.hpp"
#include "compiler/object_header.hpp"
#include "compiler/program_trace.hpp"
#include "graph/copy.hpp"
#include "graph/source.hpp"
#include "graph/text.hpp"
#include "graph/verify.hpp"
#include "io/file.hpp"
#include "loop/fold.hpp"
#include "loop/lower.hpp"
#include "loop/memory.hpp"
#include "loop/text.hpp"
#include "loop/verify.hpp"
#include "pass/dead_code.hpp"
#include "pass/merge_equal.hpp"
#include "host/compiled_file.hpp"
#include "host/package.hpp"

namespace ingot {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What a stage's result is as text, where it has one: that of a graph, or of a loop program.
std::string text_of_stage(const Program& p) { return print(p.main().graph); }
std::string text_of_stage(const TracedProgram& p) { return print(p.traced.graph); }
std::string text_of_stage(const loop::Program* p) { return p ? to_text(*p) : std::string("nothing is folded\n"); }
const loop::Program* program_of(const loop::Lowered& l) { return &l.program; }
const loop::Program* program_of(const loop::Program& p) { return &p; }
const loop::Program* program_of(const Model::Code& c) { return &c.run; }
const loop::Program* program_of(const std::optional<loop::Program>& p) { return p ? &*p : nullptr; }

// A loop program is its text: where everything is verified (pass/pass.hpp), what a stage made is
// read back, and keeps the rules.
void verify_text(std::string_view stage, const loop::Program& p) {
  const std::string written = to_text(p);
  try {
    loop::verify(p);
  } catch (const UserError& e) {
    throw_internal_error(__FILE__, __LINE__, text("the program after '", stage, "' breaks a rule: ", e.what(), "\n", written));
  }
  INGOT_ENSURE(same(loop::parse_program(written), p), "the program after '", stage, "' is not what its text says:\n", written);
}
void verify_graph(std::string_view stage, const Graph& g) {
  try {
    verify(g);
  } catch (const UserError& e) {
    throw_internal_error(__FILE__, __LINE__, text("the graph after '", stage, "' breaks a rule: ", e.what()));
  }
}
void verify_text(std::string_view stage, const Program& p) { verify_graph(stage, p.main().graph); }
void verify_text(std::string_view stage, const TracedProgram& p) { verify_graph(stage, p.traced.graph); }
void verify_text(std::string_view stage, const loop::Lowered& l) { verify_text(stage, l.program); }
void verify_text(std::string_view stage, const Model::Code& c) {
  verify_text(stage, c.run);
  if (c.fold) verify_text(stage, *c.fold);
}

// The text of a result, to be asked for while the result is as it is. `later`: also when the next
// stages have made something else of it.
template <class R>
std::function<std::string()> text_of(const R& result, bool later) {
  if constexpr (requires { program_of(result); }) {
    const loop::Program* p = program_of(result);
    if (!later) return [p] { return text_of_stage(p); };
    return [own = p ? std::make_shared<const loop::Program>(*p) : nullptr] { return text_of_stage(own.get()); };
  } else if constexpr (requires { text_of_stage(result); }) {
    return [&result] { return text_of_stage(result); };
  } else {
    return {};
  }
}

// Stages that are done and of which nobody was told yet.
using Untold = std::vector<StageDone>;

// Runs one stage of those of compile_stages. Whoever listens is told of it at once or, where there
// is a list for it, later.
template <class F>
auto stage(std::string_view name, const CompileOptions& options, Untold* untold, const F& f) {
  const auto start = std::chrono::steady_clock::now();
  auto result = f();
  if constexpr (requires { verify_text(name, result); })
    if (verifies()) verify_text(name, result);
  StageDone done{name, 0, {}};
  if (options.after) done.text = text_of(result, untold != nullptr);
  done.seconds = seconds_since(start);
  if (untold) untold->push_back(std::move(done));
  else if (options.after) options.after(done);
  return result;
}
template <class F>
auto stage(std::string_view name, const CompileOptions& options, const F& f) {
  return stage(name, options, nullptr, f);
}

// Entries that are compiled at the same time: they do not depend on each other. Whoever listens is
// told what would be told if they were compiled one after the other, by the thread that has them
// compiled: each stage of the first entry, then of the second, and nothing behind an error.
class SideBySide {
 public:
  SideBySide(std::size_t entries, const CompileOptions& options) : after_(options.after), entries_(entries) {}

  // Where an entry's stages wait to be told; null: a single one does not wait.
  Untold* untold(std::size_t k) { return after_ && entries_.size() > 1 ? &entries_[k].untold : nullptr; }

  // f(k) for every entry k, once. Then tells of all its stages, and of those that waited before;
  // the first entry's error is rethrown. What f's stages took is told as their share of the time
  // that they took together, so that what is told of a whole compilation adds up to its time.
  template <class F>
  void run(const F& f) {
    for (Entry& e : entries_) e.before = e.untold.size();
    const auto start = std::chrono::steady_clock::now();
    parallel_for(0, static_cast<int64_t>(entries_.size()), 1, [&](int64_t from, int64_t to) {
      for (int64_t k = from; k < to; k++) {
        Entry& e = entries_[static_cast<std::size_t>(k)];
        try {
          f(static_cast<std::size_t>(k));
        } catch (...) {
          e.error = std::current_exception();
          return;  // of those behind it nobody will hear
        }
      }
    });
    const double together = seconds_since(start);
    double sum = 0;
    for (const Entry& e : entries_)
      for (std::size_t k = e.before; k < e.untold.size(); k++) sum += e.untold[k].seconds;
    for (Entry& e : entries_) {
      for (std::size_t k = 0; k < e.untold.size(); k++) {
        if (k >= e.before && sum > 0) e.untold[k].seconds *= together / sum;
        after_(e.untold[k]);
      }
      if (e.error) std::rethrow_exception(e.error);
    }
  }
  // Of what was kept for whoever listens: it takes a part of the time, which is to be in a stage.
  void let_go() { entries_.clear(); }

 private:
  struct Entry {
    Untold untold = {};
    std::size_t before = 0;  // how many of them were done before `run`
    std::exception_ptr error = nullptr;
  };
  const std::function<void(const StageDone&)>& after_;
  std::vector<Entry> entries_;
};

// The ops that the model leaves to the eager library, or to its process, each once: the same at
// every level.
std::vector<std::string> called_ops(const Model::Level& level, bool by_host) {
  std::set<std::string> names;
  auto add = [&](const loop::Step& s) {
    if (const auto* call = std::get_if<loop::EagerCall>(&s); call && call->by_host == by_host) names.insert(call->op);
  };
  for (const Model::Code& c : level.codes) {
    loop::each_step(c.run.steps, add);
    if (c.fold) loop::each_step(c.fold->steps, add);
  }
  return {names.begin(), names.end()};
}

// Where each node was written, of those that say it.
void add_sources(const Graph& graph, std::map<std::string, Model::Source>& all) {
  for (const auto& n : graph.nodes())
    if (const auto frame = innermost_frame(source_of(*n).stack_trace))
      all.try_emplace(n->name, Model::Source{frame->file, std::atoi(frame->line.c_str())});
}

// The weights get their name after the library has its own: a compile that fails leaves the weights
// of an older library alone.
void name_weights(PendingFile& file, const std::string& library) {
  try {
    file.commit();
  } catch (...) {
    std::filesystem::remove(library);
    throw;
  }
}

// Passes over the graph that is to be lowered, all of whose outputs the caller gets.
std::vector<Pass> passes_for(const Graph& g) { return {dead_code_pass(), merge_equal_pass(g.outputs.size())}; }

Graph simplified(const Graph& g, const CompileOptions& options, Untold* untold) {
  auto start = std::chrono::steady_clock::now();
  const auto after = [&](const PassDone& done) {
    if (untold) {
      const auto own = std::make_shared<const Graph>(clone(done.graph));
      // To verify and to keep what a pass made is a part of the stage, as it is of the others.
      untold->push_back({done.name, seconds_since(start), [own] { return print(*own); }});
    } else if (options.after) {
      options.after({done.name, seconds_since(start), [&] { return print(done.graph); }});
    }
    start = std::chrono::steady_clock::now();
  };
  const PassScope scope({.skip = options.skip, .after = after});
  return run_passes(g, passes_for(g));
}

// Otherwise it is scheduled.
bool has_computations(const loop::Program& p) {
  bool any = false;
  loop::each_step(p.steps, [&](const loop::Step& s) { any = any || std::holds_alternative<loop::Computation>(s); });
  return any;
}

// The loop programs of one entry for one processor.
Model::Code code_for(const loop::Lowered& lowered, const std::vector<bool>& is_written, const Target& target,
                     const CompileOptions& options, Untold* untold) {
  Model::Code code;
  code.run = stage("schedule", options, untold, [&] {
    loop::Program p = lowered.program;
    if (has_computations(p)) backend_of(target).schedule(p, target);
    return p;
  });
  if (!options.skip.contains("fold"))
    code.fold = stage("fold", options, untold, [&] { return loop::fold_constants(code.run, is_written); });
  return stage("memory", options, untold, [&] {
    if (code.fold) loop::plan_memory(*code.fold);
    loop::plan_memory(code.run);
    return std::move(code);
  });
}

// A function of the library on its way in. `names` says what the graph's inputs are to the caller.
struct Part {
  std::string entry;
  const Graph& graph;
  ShapeEnv& sizes;
  const ProgramNames& names;
};

void require_metadata(const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    INGOT_REQUIRE(!key.empty() && key.find('\0') == key.npos && value.find('\0') == value.npos,
                  "metadata: expected keys and values without zero bytes, and keys that are not empty, found '", key, "'");
    INGOT_REQUIRE(!is_own_key(key), "metadata: '", key, "': keys that begin with 'ingot.', 'entry.' or '", kFixedInput,
                  "' are Ingot's own; choose another");
  }
}

// From loop programs on. `let_go`: of what the entries were made of, when they are gone.
void compile_lowered(std::vector<LoweredEntry> entries, const std::string& output, const CompileOptions& options,
                     const std::function<void()>& let_go = {}) {
  require_skippable(options);
  require_metadata(options.metadata);
  INGOT_REQUIRE(!options.targets.empty(), "compile: no target was named");
  const bool is_object = !options.object_prefix.empty();
  if (is_object) {
    require_prefix(options.object_prefix);
    require_header_place(header_of(output), output);
    INGOT_REQUIRE(options.weights != Model::Weights::Kind::appended,
                  "an object file cannot have its weights behind it: what it is linked into moves them; embed them");
  }
  const std::string library = replaced_file(output).path;
  const Arch arch = arch_of(options.targets[0]);
  for (const Target& t : options.targets)
    INGOT_REQUIRE(arch_of(t) == arch, "compile: expected targets of one architecture, found ", to_text(arch), " and ",
                  to_text(arch_of(t)));
  const std::vector<std::vector<bool>> written = written_constants(entries);
  Model model;
  for (const Target& target : options.targets) {
    Model::Level level = backend_of(target).level_for(target);
    level.codes.resize(entries.size());
    SideBySide side_by_side(entries.size(), options);
    side_by_side.run([&](std::size_t e) {
      level.codes[e] = code_for(entries[e].lowered, written[e], target, options, side_by_side.untold(e));
    });
    model.levels.push_back(std::move(level));
    for (std::size_t e = 0; e < entries.size(); e++)
      INGOT_ENSURE(model.levels.back().codes[e].run.constants.size() == model.levels[0].codes[e].run.constants.size(),
                   "levels fold different constants");
  }
  std::vector<Object> objects;
  std::optional<PendingFile> weights_file;
  Checksum weights_sum;
  if (options.weights == Model::Weights::Kind::external) {
    weights_file.emplace(output + ".safetensors");
    weights_file->sum_into(&weights_sum);
    model.weights.file = std::filesystem::path(output).filename().string() + ".safetensors";
  }
  std::vector<DataPart> appended;
  objects.push_back(stage("constants", options, [&] {
    const std::vector<Tensor> tensors = describe(model, entries);
    model.metadata.insert(model.metadata.end(), options.metadata.begin(), options.metadata.end());
    if (options.debug_info)
      for (const LoweredEntry& e : entries) add_sources(e.graph, model.sources);
    Object weights = lay_out_constants(model, tensors, options.weights, weights_file ? &*weights_file : nullptr, appended);
    if (options.object_prefix.empty()) model.note = maker_lines(options, weights_file ? weights_sum.text() : "");
    return weights;
  }));
  for (std::size_t k = 0; k < model.levels.size(); k++) {
    CodeText code;
    const Backend& backend = backend_of(model.levels[k].target);
    for (Object& o : stage("codegen", options, [&] { return backend.generate_code(model, k, options.code ? &code : nullptr); }))
      objects.push_back(std::move(o));
    if (options.code) options.code(model.levels[k].name, code);
  }
  for (Object& o : stage("table", options, [&] {
         model.host_ops = called_ops(model.levels[0], true);
         std::vector<Object> made{generate_table(model)};
         if (const std::vector<std::string> ops = called_ops(model.levels[0], false); !ops.empty())
           made.push_back(eager_ops(ops, model.levels[0].host));
         return made;
       }))
    objects.push_back(std::move(o));
  std::erase_if(objects, [](const Object& o) { return o.bytes.empty(); });
  stage("link", options, [&] {
    const Target& host = model.levels[0].host;
    if (is_object) {
      PendingFile header(header_of(output));
      header.write(object_header(model, options.object_prefix));
      link_object(objects, host, prefixed_names(options.object_prefix), library, model.levels[0].archives);
      header.commit();
      if (weights_file) name_weights(*weights_file, library);
    } else if (options.weights == Model::Weights::Kind::appended) {
      const TemporaryFolder folder;
      const std::string without_weights = folder.path() + "/" + std::filesystem::path(output).filename().string();
      link_library(objects, host, without_weights, {}, model.levels[0].archives);
      append_weights(without_weights, model, appended, output);
    } else {
      link_library(objects, host, library, write_library_checksum, model.levels[0].archives);
      if (weights_file) name_weights(*weights_file, library);
    }
    // To let go of all that was made is a part of the time, which is to be in a stage.
    objects.clear();
    model = Model();
    entries.clear();
    if (let_go) let_go();
    return output;
  });
}

// From functional graphs on. `let_go` is compile_lowered's.
void compile_parts(const std::vector<Part>& parts, const std::string& output, const CompileOptions& options,
                   const std::function<void()>& let_go) {
  std::vector<LoweredEntry> entries;
  SideBySide side_by_side(parts.size(), options);
  for (std::size_t k = 0; k < parts.size(); k++)  // by this thread, whose passes a PassScope may skip or listen to
    entries.push_back({parts[k].entry, simplified(parts[k].graph, options, side_by_side.untold(k)), {}, parts[k].names});
  side_by_side.run([&](std::size_t k) {
    entries[k].lowered = stage("lower", options, side_by_side.untold(k),
                               [&] { return loop::lower(entries[k].graph, parts[k].sizes, parts[k].names.is_constant); });
  });
  compile_lowered(std::move(entries), output, options, [&] {
    side_by_side.let_go();
    let_go();
  });
}

// Every stage, in order: those of an entry from its graph on, and those after lowering, of a level
// and its entries.
std::vector<StepName> graph_stages() {
  std::vector<StepName> names;
  for (const Pass& p : passes_for(Graph())) names.push_back(name_of(p));
  names.push_back({"lower", true});
  return names;
}
std::vector<StepName> later_stages(std::size_t levels, std::size_t entries) {
  std::vector<StepName> names;
  for (std::size_t k = 0; k < levels * entries; k++)
    names.insert(names.end(), {StepName{"schedule", true}, StepName{"fold", false}, StepName{"memory", true}});
  names.push_back({"constants", true});
  names.insert(names.end(), levels, StepName{"codegen", true});
  names.insert(names.end(), {StepName{"table", true}, StepName{"link", true}});
  return names;
}
std::vector<StepName> all_stages(std::size_t levels, std::size_t entries) {
  std::vector<StepName> names(entries, StepName{"trace", true});
  for (std::size_t k = 0; k < entries; k++) std::ranges::copy(graph_stages(), std::back_inserter(names));
  std::ranges::copy(later_stages(levels, entries), std::back_inserter(names));
  return names;
}

std::vector<std::string_view> without_skipped(const std::vector<StepName>& stages, const CompileOptions& options) {
  std::vector<std::string_view> names;
  for (const StepName& s : stages)
    if (!options.skip.contains(s.name)) names.push_back(s.name);
  return names;
}

}  // namespace

std::string header_of(const std::string& object) { return std::filesystem::path(object).replace_extension(".h").string(); }

std::vector<std::string_view> skippable_stages() {
  std::vector<std::string_view> names;
  for (const StepName& s : all_stages(1, 1))
    if (!s.required) names.push_back(s.name);
  return names;
}

void require_skippable(const CompileOptions& options) {
  const std::vector<StepName> stages = all_stages(1, 1);
  for (const std::string& name : options.skip) {
    const auto found = std::ranges::find(stages, std::string_view(name), &StepName::name);
    INGOT_REQUIRE(found != stages.end(), "there is no stage '", name, "' to skip; those that can be skipped are ",
                  names_of_skippable(stages));
    INGOT_REQUIRE(!found->required, "stage '", name,
                  "' cannot be skipped: there is no library without it; those that can be skipped are ",
                  names_of_skippable(stages));
  }
}

std::vector<std::string_view> compile_stages(const CompileOptions& options, std::size_t entries) {
  return without_skipped(all_stages(options.targets.size(), entries), options);
}

std::vector<std::string_view> compile_loop_stages(const CompileOptions& options) {
  return without_skipped(later_stages(options.targets.size(), 1), options);
}

void compile(const TensorFunction& f, const TensorList& examples, const std::vector<OpenSize>& open, const std::string& output,
             const CompileOptions& options) {
  require_skippable(options);
  Program program = stage("trace", options, [&] { return function_program(f, examples, open); });
  compile(program, output, options);
}

void compile(Program& program, const std::string& output, const CompileOptions& options) {
  require_skippable(options);
  std::set<std::string_view> known;
  for (const EntryPoint& e : program.entries)
    INGOT_REQUIRE(known.insert(e.name).second, "compile: two entry points are called '", e.name, "'");
  std::vector<Part> parts;
  std::deque<TracedProgram> traced;  // of those that are not lowered as they are
  std::deque<ProgramNames> names;    // of those that are
  for (EntryPoint& e : program.entries) {
    if (std::optional<ProgramNames> own = names_as_it_is(program, e)) {
      parts.push_back({e.name, e.graph, *e.sizes, names.emplace_back(*std::move(own))});
      continue;
    }
    TracedProgram& made = traced.emplace_back(stage("trace", options, [&] { return trace_program(program, e); }));
    parts.push_back({e.name, made.traced.graph, made.traced.sizes, made.names});
  }
  compile_parts(parts, output, options, [&] { traced.clear(); });
}

void compile(const loop::Program& program, const std::map<std::string, Tensor>& constants, const std::string& output,
             const CompileOptions& options) {
  loop::verify(program);
  require_microkernels(program, options.targets);
  const ProgramNames names = names_of(program, constants);
  std::vector<LoweredEntry> entries;
  entries.push_back(entry_of(program, names));
  compile_lowered(std::move(entries), output, options);
}

}  // namespace ingot
