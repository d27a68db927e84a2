#include "compiler/loop_entry.hpp"

#include <algorithm>
#include <set>

#include "backend/backend.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

const loop::Buffer& buffer(const loop::Program& p, int b) { return p.buffers[at(b)]; }

std::set<int> written_buffers(const loop::Program& p) {
  std::set<int> written;
  loop::each_step(p.steps, [&](const loop::Step& s) {
    for (const int b : loop::written_by(s)) written.insert(b);
  });
  return written;
}

Shape fixed_sizes(const loop::Buffer& b) {
  Shape sizes;
  for (const Expr& n : b.sizes) {
    INGOT_REQUIRE(n.is_const(), "constant '", b.name, "': expected fixed sizes, found ", n);
    sizes.push_back(n->i);
  }
  return sizes;
}

}  // namespace

ProgramNames names_of(const loop::Program& program, const std::map<std::string, Tensor>& tensors) {
  ProgramNames names;
  names.name = program.name;
  const std::set<int> written = written_buffers(program);
  for (const int b : program.inputs) names.inputs.push_back(buffer(program, b).name);
  for (const int b : program.outputs) names.outputs.push_back(buffer(program, b).name);
  std::set<std::string> known;
  for (const int b : program.constants) {
    const loop::Buffer& c = buffer(program, b);
    const Shape sizes = fixed_sizes(c);
    known.insert(c.name);
    const auto given = tensors.find(c.name);
    if (given != tensors.end())
      INGOT_REQUIRE(given->second.dtype() == c.dtype && given->second.sizes() == sizes, "constant '", c.name, "': expected ",
                    short_name_of(c.dtype), sizes, ", found ", short_name_of(given->second.dtype()), given->second.sizes());
    names.constants.push_back({.fqn = c.name,
                               .kind = written.contains(b) ? 2 : 1,  // I018: a buffer, a parameter
                               .tensor = given == tensors.end() ? Tensor() : given->second});
  }
  for (const auto& [name, tensor] : tensors) INGOT_REQUIRE(known.contains(name), "the loop program has no constant '", name, "'");
  return names;
}

LoweredEntry entry_of(const loop::Program& program, const ProgramNames& names) {
  LoweredEntry e{program.name == "main" ? "forward" : program.name, {}, {program, {}, {}, {}, {}}, names};
  const std::set<int> written = written_buffers(program);
  const auto add = [&](int b, bool is_number) -> const Node* {
    Node* n = e.graph.placeholder(buffer(program, b).name);
    n->meta = is_number ? Value(int64_t{0}) : Value(make_tensor(Geometry::contiguous({}, buffer(program, b).dtype), {}, true));
    if (written.contains(b)) e.lowered.written.push_back(n);
    return n;
  };
  for (std::size_t k = 0; k < program.inputs.size(); k++)
    e.lowered.inputs.push_back(add(program.inputs[k], k < program.numbers.size() && program.numbers[k].valid()));
  for (const int b : program.constants) e.lowered.constants.push_back(add(b, false));
  return e;
}

void require_microkernels(const loop::Program& program, const std::vector<Target>& targets) {
  for (const Target& target : targets) {
    const Backend& backend = backend_of(target);
    loop::each_step(program.steps, [&](const loop::Step& s) {
      const auto* k = std::get_if<loop::Kernel>(&s);
      if (!k || !k->product) return;
      const std::optional<std::string> why = backend.why_no_code(*k->product, target);
      INGOT_REQUIRE(!why, "kernel ", k->name, ": ", target.cpu, " ", *why,
                    ". Name the processor that the text was scheduled for (--target, --cpu), or compile the text of an earlier "
                    "stage (--dump-after lower), which is scheduled for this one");
    });
  }
}

}  // namespace ingot
