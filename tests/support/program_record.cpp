#include "support/program_record.hpp"

#include "base/error.hpp"
#include "io/json_writer.hpp"
#include "support/seen.hpp"

namespace ingot::testing {
namespace {

void write_steps(JsonWriter& w, const std::vector<Step>& steps) {
  w.begin_list();
  for (std::size_t k = 0; k < steps.size(); k++)  // of inputs: each a view of what was before it
    w.value(to_python(steps[k], static_cast<int>(k) + 1, 1));
  w.end();
}

void write_signature(JsonWriter& w, const Program& p) {
  w.field("seed", p.seed).field("grid", p.grid).field("wrapped", p.wrapped);
  w.key("bases").begin_list();
  for (const Base& b : p.bases) {
    w.begin_object().key("sizes").begin_list();
    for (const int64_t n : b.sizes) w.value(n);
    w.end()
        .field("dtype", text(b.dtype))
        .field("requires_grad", b.requires_grad)
        .field("leaf", b.leaf)
        .field("below", b.below)
        .field("shift", b.shift);
    w.end();
  }
  w.end().key("inputs").begin_list();
  for (const ProgramInput& i : p.inputs) {
    w.begin_object().field("base", i.base).key("views");
    write_steps(w, i.views);
    w.end();
  }
  w.end();
}

void write_seen(JsonWriter& w, const std::vector<Seen>& l) {
  w.begin_list();
  for (const Seen& s : l) {
    w.begin_object().field("what", s.what).field("facts", s.facts).key("values").begin_list();
    for (const double x : numbers(s.values)) w.value(x);
    w.end().end();
  }
  w.end();
}

void write_run(JsonWriter& w, const Program& p, std::size_t setting, bool gradients) {
  w.begin_object().key("sizes").begin_list();
  for (const int64_t n : p.settings[setting]) w.value(n);
  w.end();
  try {
    const Outcome o =
        outcome_of(p, {.gradients = gradients, .setting = setting}, [&](const TensorList& in) { return run(p, in); });
    w.field("draws", o.drawn > 0).field("counts_writes", o.counts_writes).key("free_strides").begin_list();
    for (const std::string& name : o.free_strides) w.value(name);
    w.end();
    const std::vector<Seen> all = seen(o);
    w.key("seen");
    write_seen(w, all);
    if (gradients) {
      const SeenGradients g = seen_gradients(o);
      w.key("gradients").begin_list();
      for (std::size_t k = 0; k < g.roots.size(); k++) {
        w.begin_object().field("root", g.roots[k]).field("refused", g.refusals[k]).key("seen");
        write_seen(w, g.gradients[k]);
        w.end();
      }
      w.end();
    }
  } catch (const UserError& e) {
    w.field("refused", e.what());
  }
  w.end();
}

}  // namespace

std::string program_record(const Program& p, const Comparison& judged, bool gradients) {
  JsonWriter w;
  w.begin_object();
  write_signature(w, p);
  w.field("python", to_python(p)).field("ours", name_of(judged.agreement)).field("message", judged.what);
  w.key("runs").begin_list();
  for (std::size_t setting = 0; setting < p.settings.size(); setting++) write_run(w, p, setting, gradients);
  w.end().end();
  return w.take();
}

std::string refusal_record(const Program& p, const std::string& refusal) {
  JsonWriter w;
  w.begin_object();
  write_signature(w, p);
  w.field("python", to_python(p, true)).field("ours", "refused by eager").field("message", refusal);
  w.key("sizes").begin_list();
  for (const int64_t n : p.settings[0]) w.value(n);
  w.end().end();
  return w.take();
}

}  // namespace ingot::testing
