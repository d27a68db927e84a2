// ingot check: does a program compute what PyTorch computed?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "check/workers.hpp"
#include "cli/number_check.hpp"
#include "cli/open_model.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/quantity.hpp"
#include "cli/verb.hpp"
#include "compiler/compiled_program.hpp"
#include "compiler/differentiable_program.hpp"
#include "compiler/external_program.hpp"
#include "format/load.hpp"
#include "ingot/autograd.hpp"
#include "io/file.hpp"
#include "io/json_writer.hpp"

namespace ingot {
namespace {

struct CheckVerb {
  std::string model, data, suite, against, target, runner;
  std::vector<std::string> sizes;
  std::vector<std::string> filters;
  CheckOptions check;
  std::optional<double> rtol, atol;
  bool eager = false, compiled = false, verbose = false;
  std::optional<std::string> json;  // a file; empty: standard output
  int workers = 1;
};

using Outcome = CheckResult::Outcome;

const char* name_of(Outcome o) { return o == Outcome::passed ? "passed" : o == Outcome::failed ? "failed" : "skipped"; }

// JSON has no number for what cannot be measured.
void write_number(JsonWriter& w, std::string_view key, double d) {
  if (std::isfinite(d)) w.field(key, d);
  else w.key(key).null();
}

void write(JsonWriter& w, const std::string& name, const CheckResult& r) {
  w.begin_object().field("name", name).field("outcome", name_of(r.outcome));
  write_number(w, "largest_difference", r.largest);
  write_number(w, "fraction_of_bound", r.worst);
  w.field("where", r.where).field("partly", r.partly).field("seconds", r.seconds).field("message", r.message);
  w.key("missing_ops").begin_list();
  for (const std::string& op : r.missing_ops) w.value(op);
  w.end().end();
}

void put_json(const std::string& path, JsonWriter& w) {
  if (path.empty()) {
    std::cout << w.take() << '\n';
    return;
  }
  PendingFile file(path);
  file.write(w.take() + "\n");
  file.commit();
}

std::string shown(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", x);
  return buffer;
}

// What the comparison found, in words.
std::string finding(const CheckResult& r) {
  if (r.outcome != Outcome::passed) return r.message;
  const std::string s =
      text("largest difference ", shown(r.largest), "; ", r.where, " comes nearest its bound, with ", shown(r.worst), " of it");
  return r.partly.empty() ? s : text(s, "; ", r.partly);
}

[[noreturn]] void fail_quietly() { throw CLI::RuntimeError(1); }

void report_one(const CheckVerb& o, const std::string& name, const CheckResult& r) {
  if (o.json) {
    JsonWriter w(true);
    write(w, name, r);
    put_json(*o.json, w);
  }
  if (!o.json || !o.json->empty()) std::cout << name << ": " << name_of(r.outcome) << ": " << finding(r) << '\n';
  if (r.outcome != Outcome::passed) fail_quietly();
}

void check_one(const CheckVerb& o) {
  const Case c = find_case(o.model, o.data);
  report_one(o, c.name, check_case(c, o.check));
}

void check_suite(const CheckVerb& o) {
  std::vector<Case> cases = find_cases(o.suite);
  if (!o.filters.empty())
    std::erase_if(cases, [&](const Case& c) {
      return std::none_of(o.filters.begin(), o.filters.end(), [&](const std::string& glob) { return matches(c, glob); });
    });
  // What an operator without gradients computes when it is compiled is what --compiled alone finds
  // out.
  if (o.compiled && o.check.gradients)
    std::erase_if(cases, [](const Case& c) { return c.kind == Case::Kind::op && !c.has_gradients; });
  INGOT_REQUIRE(!cases.empty(), "no case of ", o.suite, " fits the filter");
  std::vector<CheckResult> results;
  {
    ProgressBar bar("checking", cases.size());
    results = check_cases(cases, o.check, o.workers, [&](std::size_t done) { bar.show(done); });
  }
  const bool quiet = o.json && o.json->empty();  // standard output is the JSON's
  std::size_t counts[3] = {};
  for (std::size_t i = 0; i < cases.size(); i++) {
    const CheckResult& r = results[i];
    counts[static_cast<int>(r.outcome)]++;
    if (quiet) continue;
    if (r.outcome == Outcome::failed) std::cout << "FAILED  " << cases[i].name << ": " << finding(r) << '\n';
    else if (o.verbose)
      std::cout << name_of(r.outcome) << "  " << cases[i].name << ": " << finding(r) << " (" << seconds_text(r.seconds) << ")\n";
  }
  if (o.json) {
    JsonWriter w(true);
    w.begin_object().field("passed", counts[0]).field("failed", counts[1]).field("skipped", counts[2]).key("cases").begin_list();
    for (std::size_t i = 0; i < cases.size(); i++) write(w, cases[i].name, results[i]);
    w.end().end();
    put_json(*o.json, w);
  }
  if (!quiet) std::cout << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " skipped\n";
  if (counts[1] > 0) fail_quietly();
}

// Runs programs as the library does that was made of them.
template <class Compiled>
Execute executes(std::shared_ptr<const Compiled> compiled) {
  return [compiled](Program& p, Args inputs) { return compiled->run(p, inputs); };
}

std::function<Execute(Program&)> compiles(const CheckVerb& o) {
  CompileOptions options;
  if (!o.target.empty()) options.targets = {parse_target(o.target)};
  if (o.check.gradients)
    return [options](Program&) -> Execute {
      return [options](Program& p, Args inputs) { return run_differentiable(p, inputs, options); };
    };
  if (o.runner.empty())
    return [options](Program& p) { return executes(std::make_shared<const CompiledProgram>(p, options, &kPlainWords)); };
  return [options, command = o.runner](Program& p) {
    return executes(std::make_shared<const ExternalProgram>(p, options, command));
  };
}

// A library against the program it was made of: on the case's inputs with PyTorch's results where
// one is given, else on the inputs that the program's file brings along, or random ones, with what
// the program computes op by op.
void check_library(CheckVerb& o) {
  if (o.against.empty())
    throw CLI::ValidationError("check",
                               "a compiled model is checked against its program: ingot check MODEL.so --against MODEL.pt2");
  if (!o.suite.empty() || o.compiled || o.check.gradients)
    throw CLI::ValidationError("check", "of a compiled model takes neither --suite, --compiled nor --grad");
  const auto compiled = std::make_shared<const CompiledProgram>(o.model, &kPlainWords);
  if (!o.data.empty()) {
    o.check.prepare = [compiled](Program&) { return executes(compiled); };
    o.model = o.against;
    return check_one(o);
  }
  Program reference = load_program(o.against), program = load_program(o.against);
  const GradModeGuard no_grad(false);
  const ModelContainerRunner runner(o.model, RunnerOptions{.words = &kPlainWords});
  InputOptions random;
  random.random = true;
  random.sizes = o.sizes;
  const TensorList inputs = read_inputs(runner, random);
  Values copies, given(inputs.begin(), inputs.end());
  for (const Tensor& t : inputs) copies.emplace_back(t.clone());
  const Values want = reference.run(copies), got = compiled->run(program, given);
  CheckResult result;
  for (std::size_t k = 0; k < want.size(); k++) {
    if (!want[k].is_tensor()) continue;
    const Difference d =
        compare(got.at(k).tensor(), want[k].tensor(),
                o.rtol || o.atol ? Tolerance{o.atol.value_or(0), o.rtol.value_or(0)} : model_tolerance(want[k].tensor()));
    result.largest = std::max(result.largest, d.largest);
    if (result.where.empty() || d.worst > result.worst) result.worst = d.worst, result.where = text("out.", k);
    if (result.message.empty() && !d.message.empty()) result.message = text("out.", k, ": ", d.message);
  }
  result.outcome = result.message.empty() ? Outcome::passed : Outcome::failed;
  report_one(o, o.model, result);
}

// --json takes a file or none, so a file of the case that follows it is taken for its file first.
void give_back_positional(CheckVerb& o) {
  const std::string file = o.json.value_or("");
  if (file.ends_with(".pt2")) {
    if (!o.model.empty() && o.data.empty()) o.data = o.model;
    o.model = file;
  } else if (file.ends_with(".safetensors")) {
    o.data = file;
  } else {
    return;
  }
  o.json = "";
}

void check(CheckVerb& o) {
  give_back_positional(o);
  if (o.json == "-") o.json = "";
  if (o.json) require_apart({*o.json}, {o.model, o.data, o.against});
  if (o.model.ends_with(".so")) return check_library(o);
  if (!o.against.empty())
    throw CLI::ValidationError("--against", "is for a compiled model: ingot check MODEL.so --against MODEL.pt2");
  if (!o.compiled && (!o.target.empty() || !o.runner.empty()))
    throw CLI::ValidationError("check", "--target and --runner are for --compiled");
  if (o.compiled && o.check.gradients && (!o.target.empty() || !o.runner.empty()))
    throw CLI::ValidationError("--grad", "of compiled programs are computed by this process; leave out --target and --runner");
  if (o.compiled) o.check.prepare = compiles(o);
  if (o.suite.empty() == o.model.empty() || o.model.empty() != o.data.empty())
    throw CLI::ValidationError("check", "takes MODEL.pt2 and CASE.safetensors, or --suite DIR");
  if (o.suite.empty() && !o.filters.empty()) throw CLI::ValidationError("--filter", "is for --suite DIR");
  if (o.rtol || o.atol) o.check.tolerance = Tolerance{o.atol.value_or(0), o.rtol.value_or(0)};
  if (o.suite.empty()) check_one(o);
  else check_suite(o);
}

}  // namespace

void add_check_verb(CLI::App& app) {
  auto o = std::make_shared<CheckVerb>();
  CLI::App* verb = app.add_subcommand("check", "compare what a program computes with what PyTorch computed");
  verb->add_option("model", o->model, "a .pt2 file, or a compiled model (.so) with --against");
  verb->add_option("case", o->data, "a .safetensors file: in.N, out.N, buffer.NAME, tangent.N, grad.N");
  verb->add_option("--suite", o->suite, "check every case in and under this folder");
  verb->add_option("--filter", o->filters, "of the suite, only cases whose name, folder or operator fits this glob");
  verb->add_flag("--grad", o->check.gradients, "compare gradients too");
  verb->add_flag("--strides", o->check.strides, "the outputs' strides must be PyTorch's, too (op cases)");
  auto* eager = verb->add_flag("--eager", o->eager, "run op by op (the default)");
  verb->add_flag(
          "--compiled", o->compiled,
          "compile each program, once for all its data, and run that; with --grad, with its gradients, of operators that have some")
      ->excludes(eager);
  verb->add_option("--target", o->target, "with --compiled: for this target instead of this machine");
  verb->add_option(
      "--runner", o->runner,
      "with --compiled: a command that runs a library on another machine: COMMAND LIBRARY FOLDER (see src/compiler/external_program.hpp)");
  verb->add_option("--against", o->against, "of a compiled model: the program it was made of");
  verb->add_option("--size", o->sizes, "of a compiled model without a case: SYMBOL=NUMBER for its random inputs");
  verb->add_option("--rtol", o->rtol, "|difference| <= atol + rtol * |expected|, instead of the usual bounds");
  verb->add_option("--atol", o->atol, "see --rtol");
  verb->add_option("-j", o->workers, "cases to check side by side")->check(at_least_one())->capture_default_str();
  verb->add_option("--json", o->json, "write the results as JSON to this file; without a file, or of -, to standard output")
      ->expected(0, 1);
  verb->add_flag("-v,--verbose", o->verbose, "a line for every case, not only for failures");
  verb->footer(
      "The usual bounds: single operators (cases of an index.json) 1e-5 + 1.3e-6 * |expected| in float32 (a table grants some more, with reasons), models\n"
      "1e-5 + 1e-4 * standard deviation of the expected values; bfloat16 1.6e-2; integers exactly.\n"
      "Exit status: 0 all agree, 1 something differs.\n\n"
      "examples:\n"
      "  ingot check model.pt2 case0.safetensors --grad\n"
      "  ingot check --suite golden/ops --grad --filter 'linalg*' -j 2\n"
      "  ingot check --suite golden/models --compiled\n"
      "  ingot check --suite golden/train --compiled --grad\n"
      "  ingot check model.so --against model.pt2\n"
      "  ingot check --suite golden --json results.json");
  verb->callback([o] { check(*o); });
}

}  // namespace ingot
