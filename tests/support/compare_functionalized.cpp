#include "support/compare_functionalized.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "autograd/meta.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"
#include "graph/interpret.hpp"
#include "graph/trace.hpp"
#include "graph/verify.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/refusal_conditions.hpp"
#include "support/seen.hpp"
#include "tensor/geometry.hpp"
#include "tensor/impl.hpp"
#include "transform/functional.hpp"

namespace ingot::testing {
namespace {

// What a refusal says after it names ops ("narrow: slice: ") and before it names tensors, versions,
// nodes of a graph, what called it and sizes, which are symbols where they are open. Which index is
// out of bounds compiled code does not say, and a result has another place among all of them than
// where it alone is asked for.
std::string gist(std::string message) {
  for (std::size_t colon; (colon = message.find(": ")) < message.find(' ');) message.erase(0, colon + 2);
  if (message.starts_with("index "))
    if (const std::size_t bounds = message.find(" is out of bounds"); bounds != message.npos)
      message.replace(0, bounds, "an index");
  if (constexpr std::string_view kOfResult = "Function backward returned an invalid gradient"; message.starts_with(kOfResult))
    message.resize(kOfResult.size());
  return message.substr(0, std::min({message.find(':'), message.find(" - got "), message.find(" (node "),
                                     message.find(" (AOTInductor"), message.find(" (ingot_container_run_entry")}));
}

bool has_gist_of(const std::vector<std::string>& refusals, const std::string& refusal) {
  return std::ranges::any_of(refusals, [&](const std::string& r) { return !r.empty() && gist(r) == gist(refusal); });
}

constexpr std::string_view kWrittenSince =
    "one of the variables needed for gradient computation has been modified by an inplace operation";

std::vector<std::string> texts_of(const Shape& sizes) {
  std::vector<std::string> l;
  for (const Int& n : sizes) l.push_back(text(n));
  return l;
}

// How often the other way counts a tensor as written.
enum class WriteCount { as_eager, at_most_as_eager };
// A saved tensor that was written since, as the refusal of a backward names it: "[torch.FloatTensor
// [2, s0]], which is output 0 of MulBackward0, is at version 2; expected version 1 instead".
struct WrittenSince {
  std::string type;  // "Float"
  std::vector<std::string> sizes;  // where they are open, expressions of symbols
  std::string output = {};  // "0 of MulBackward0", or nothing
  int64_t now = 0, expected = 0;

  // Whether it may be the tensor that eager has there. What an expression stands for is not known,
  // but it is one size wherever it stands.
  bool is(const WrittenSince& eager, WriteCount count) const {
    if (type != eager.type || sizes.size() != eager.sizes.size()) return false;
    std::map<std::string, std::string> meant;
    for (std::size_t d = 0; d < sizes.size(); d++) {
      if (sizes[d] == eager.sizes[d]) continue;
      const bool is_number = sizes[d].find_first_not_of("0123456789") == std::string::npos;
      if (is_number || meant.emplace(sizes[d], eager.sizes[d]).first->second != eager.sizes[d]) return false;
    }
    if (count == WriteCount::as_eager) return now == eager.now && expected == eager.expected;
    return now > expected && expected <= eager.expected && now - expected <= eager.now - eager.expected;
  }
};
std::optional<WrittenSince> written_since(std::string_view refusal) {
  const std::size_t begin = refusal.find(kWrittenSince);
  if (begin == refusal.npos) return std::nullopt;
  refusal.remove_prefix(begin + kWrittenSince.size());
  bool says_all = true;
  const auto until = [&](std::string_view words) {
    const std::size_t end = refusal.find(words);
    says_all = says_all && end != refusal.npos;
    const std::string_view part = refusal.substr(0, end);
    refusal.remove_prefix(says_all ? end + words.size() : refusal.size());
    return part;
  };
  const auto number = [&](std::string_view digits) {
    int64_t n = 0;
    says_all = says_all && std::from_chars(digits.data(), digits.data() + digits.size(), n).ec == std::errc();
    return n;
  };
  WrittenSince w;
  until(": [torch.");
  w.type = until("Tensor [");
  const std::string_view sizes = until("]]");
  std::string_view output = until(" is at version ");
  w.now = number(until("; expected version "));
  w.expected = number(until(" instead"));
  if (!says_all) return std::nullopt;
  constexpr std::string_view kOutput = ", which is output ";
  if (output.starts_with(kOutput) && output.ends_with(',')) {
    w.output = output.substr(kOutput.size(), output.size() - kOutput.size() - 1);
  } else if (!output.empty()) {
    return std::nullopt;
  }
  int depth = 0;  // "max(s0, 1)" is one
  for (std::size_t i = 0, first = 0; i <= sizes.size() && !sizes.empty(); i++) {
    if (i < sizes.size()) depth += (sizes[i] == '(') - (sizes[i] == ')');
    if (i < sizes.size() && (sizes[i] != ',' || depth > 0)) continue;
    w.sizes.emplace_back(sizes.substr(first, i - first));
    first = i + 2;
  }
  return w;
}

// Whether one of eager's refusals is this one: in the same words, and of the same saved tensor.
bool refuses_so(const std::vector<std::string>& refusals, const std::string& refusal, WriteCount count) {
  if (!gist(refusal).starts_with(kWrittenSince)) return has_gist_of(refusals, refusal);
  const std::optional<WrittenSince> named = written_since(refusal);
  return named && std::ranges::any_of(refusals, [&](const std::string& r) {
           const std::optional<WrittenSince> eager = written_since(r);
           return eager && named->is(*eager, count);
         });
}

// Which results a backward goes through when it is asked for the gradients of one.
enum class Backward { of_that_one, of_all };

std::optional<std::string> gradient_difference(const Outcome& want, const Outcome& got, Allowance& allowance, Backward backward,
                                               GradientCounts& counts) {
  const SeenGradients x = seen_gradients(want), y = seen_gradients(got);
  for (std::size_t k = 0; k < x.roots.size(); k++) {
    const bool refused_x = !x.refusals[k].empty(), refused_y = !y.refusals[k].empty();
    const bool no_history = !refused_x && !refused_y && x.gradients[k].empty() && y.gradients[k].empty();
    const bool lies_otherwise = !std::ranges::equal(x.gradients[k], y.gradients[k], {}, &Seen::strides, &Seen::strides);
    counts[no_history               ? GradientAgreement::no_history
           : refused_x && refused_y ? GradientAgreement::both_refuse
           : refused_x              ? GradientAgreement::refused_by_eager
           : refused_y              ? GradientAgreement::refused
           : lies_otherwise         ? GradientAgreement::agree_in_values
                                    : GradientAgreement::agree]++;
    if (no_history) continue;
    // A backward through all results refuses what that of another one refuses. A compiled function
    // writes a tensor once, however often the program does.
    const bool of_another = backward == Backward::of_all && refused_y && !refused_x &&
                            refuses_so(x.refusals, y.refusals[k], WriteCount::at_most_as_eager);
    if (refused_y && !refused_x && !of_another) return text("the gradient of ", x.roots[k], " is refused: ", y.refusals[k]);
    if (refused_x || refused_y) continue;
    const std::optional<std::string> d = allowance.difference(x.gradients[k], y.gradients[k]);
    if (!d) continue;
    // Zeros for the other results are no zeros everywhere on the way: 0 / 0 is none.
    const bool others = backward == Backward::of_all && x.roots.size() > 1;
    if (!others || allowance.difference(seen_gradients_among_zeros(want, k), y.gradients[k])) return d;
  }
  return std::nullopt;
}

// Whether two inputs are views of one base that has no elements.
bool shares_nothing(const Program& p, const Outcome& o) {
  return std::ranges::any_of(p.inputs, [&](const ProgramInput& a) {
    return o.in.bases[static_cast<std::size_t>(a.base)].numel() == 0 &&
           std::ranges::count_if(p.inputs, [&](const ProgramInput& b) { return a.base == b.base; }) > 1;
  });
}
// What was seen of tensors that have elements.
std::vector<Seen> seen_elements(const Outcome& o) {
  std::vector<Seen> all = seen(o);
  std::erase_if(all, [](const Seen& s) { return s.values.defined() && s.values.numel() == 0; });
  return all;
}

std::optional<std::string> difference(const Outcome& want, const Outcome& got, Allowance& allowance) {
  if (want.results.size() != got.results.size()) return text(want.results.size(), " results; got ", got.results.size());
  if (auto d = allowance.difference(seen(want), seen(got))) return d;
  if (want.drawn != got.drawn) return text("the run took the random stream ", want.drawn, " further; got ", got.drawn);
  return std::nullopt;
}

TensorFunction body_of(const Program& p) {
  return [&p](const TensorList& inputs) { return run(p, inputs); };
}

Program without_writes(Program p, std::size_t setting) {
  TensorList pool = make_inputs(p, {.setting = setting}).inputs;
  manual_seed(p.seed);
  std::erase_if(p.body, [&](const Step& s) {
    const std::size_t before = pool.size();
    execute(s, pool);
    return pool.size() == before;
  });
  return p;
}

// Recorded, a program counts the writes that eager counts, since both count them above everything
// else. But of inputs on one storage it counts each by itself (R083, R099), and what out= makes
// larger it counts anew.
WriteCount write_count(const Program& p) {
  const bool has_out = std::ranges::any_of(p.body, [](const Step& s) { return s.out >= 0; });
  const bool has_shared = std::ranges::any_of(p.inputs, [&](const ProgramInput& a) {
    return std::ranges::count_if(p.inputs, [&](const ProgramInput& b) { return a.base == b.base; }) > 1;
  });
  return has_out || has_shared ? WriteCount::at_most_as_eager : WriteCount::as_eager;
}
bool calls_functions(const Step& s) {
  return std::ranges::any_of(program_functions(), [&](const ProgramFunction& f) { return s.op == f.name; });
}
// Whether the program writes a tensor like the one that is named, after a call could have saved it.
bool writes_what_is_named(const Program& p, const WrittenSince& named, std::size_t setting, WriteCount count) {
  TensorList pool = make_inputs(p, {.setting = setting}).inputs;
  std::vector<std::pair<Tensor, WrittenSince>> had;
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    for (const Tensor& t : pool)
      had.emplace_back(t, WrittenSince{text(scalar_type_name(t.dtype())), texts_of(t.sizes()), "", 0, t.version()});
    execute(s, pool);
  }
  return std::ranges::any_of(had, [&](auto& h) {
    h.second.now = h.first.version();
    return named.is(h.second, count);
  });
}

// Whether eager refuses the backward in the words of `refusal`, or would if it came to them: that a
// saved tensor was written is found before the formula of a gradient runs, and the same program
// without its writes shows what the formula says.
bool eager_refuses_too(const Program& p, const Outcome& eager, const std::string& refusal, std::size_t setting) {
  const std::vector<std::string> refusals = seen_gradients(eager).refusals;
  const WriteCount count = write_count(p);
  if (refuses_so(refusals, refusal, count)) return true;
  if (!has_gist_of(refusals, std::string(kWrittenSince))) return false;
  // Eager names what it comes to first. The other way may not have found that written; and of
  // control flow it saves what eager does not.
  if (const std::optional<WrittenSince> named = written_since(refusal))
    return (count == WriteCount::at_most_as_eager || std::ranges::any_of(p.body, calls_functions)) &&
           writes_what_is_named(p, *named, setting, count);
  try {
    const Program q = without_writes(p, setting);
    return has_gist_of(seen_gradients(outcome_of(q, {.setting = setting}, body_of(q))).refusals, refusal);
  } catch (const UserError&) {
    return false;  // a later call needs what a write made
  }
}

// The same where inputs without elements are tensors of their own, as compiled functions count them
// (R083), and no views of what others see.
bool refuses_where_nothing_is_shared(const Program& p, const Outcome& eager, const std::string& refusal, std::size_t setting) {
  if (!shares_nothing(p, eager)) return false;
  TensorList apart;
  try {
    Outcome o = outcome_of(p, {.setting = setting}, [&](const TensorList& inputs) {
      for (const Tensor& t : inputs) {
        const bool own = t.numel() == 0 && !p.wrapped;
        apart.push_back(!own ? t : is_differentiable(t.dtype()) ? aten<"mul.Scalar">(t, 1.0) : t.clone());
      }
      return run(p, apart);
    });
    o.in.inputs = apart;
    return refuses_so(seen_gradients(o).refusals, refusal, WriteCount::at_most_as_eager);
  } catch (const UserError&) {
    return false;  // it does not come to its backward
  }
}

// An operand of control flow, as it was when that was called.
struct Operand {
  Tensor tensor;
  Shape sizes;
  uint32_t version;
  bool is_leaf;  // … or what a library is given is: a refusal names no history of it
  std::vector<std::string> histories;  // what it may be called, "MulBackward0"; none without one

  // `recorded_as`: what its history is called where that is another than eagerly, or nothing.
  Operand(const Tensor& t, const std::vector<std::string>& recorded_as)
      : tensor(t), sizes(t.sizes()), version(t.version()), is_leaf(t.is_leaf()) {
    if (!t.requires_grad()) return;
    histories = recorded_as;
    if (recorded_as.empty() || version > 0) histories.push_back(t.grad_fn_name());  // that of a write is its own
  }
  // Whether it is what the refusal names, with the version that it had and the one that it has now.
  bool is_named_by(const WrittenSince& named) const {
    const WrittenSince here{text(scalar_type_name(tensor.dtype())), texts_of(sizes), "", tensor.version(), version};
    const bool has_symbols_alone = std::ranges::all_of(
        named.sizes, [](const std::string& size) { return size.find_first_not_of("s0123456789") == std::string::npos; });
    if (tensor.version() <= version || !has_symbols_alone || !named.is(here, WriteCount::as_eager)) return false;
    if (named.output.empty()) return is_leaf;
    return std::ranges::any_of(histories, [&](const std::string& h) { return named.output.ends_with(" of " + h); });
  }
};

// Whether the refusal is of a saved tensor that was written, and that is an operand of control
// flow: eagerly that is the program it stands for, which may not save it.
bool refuses_operand(const Program& p, const std::string& refusal, std::size_t setting) {
  const std::optional<WrittenSince> named = written_since(refusal);
  if (!named || !refusal.starts_with(kWrittenSince)) return false;
  TensorList pool = make_inputs(p, {.setting = setting}).inputs;
  std::vector<Operand> operands;
  // Of an input that is written a copy is recorded, of one whose sizes change in place a view, of
  // one that is laid out anew the input itself, of one that shares its elements with others a view
  // of what they lie in; and control flow as one call.
  const std::vector<std::string> of_an_input = {"CloneBackward0", "ViewBackward0", "InputBackward", "AsStridedBackward0"};
  std::vector<std::vector<std::string>> recorded_as(pool.size(), of_an_input);
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    const bool is_control_flow = calls_functions(s);
    if (is_control_flow)
      for (const StepArg& a : s.args)
        for (const int k : a.tensors)
          operands.emplace_back(pool[static_cast<std::size_t>(k)], recorded_as[static_cast<std::size_t>(k)]);
    execute(s, pool);
    for (std::size_t k = recorded_as.size(); k < pool.size(); k++) {
      // Recorded, a view stays what it was taken as when its base is written.
      std::vector<std::string> made_as;
      if (is_control_flow) made_as = {op("higher_order::" + (s.op == "map" ? "map_impl" : s.op)).node_name};
      else if (pool[k].requires_grad()) made_as = {pool[k].grad_fn_name()};
      // Some ops return what they are given: the conjugate of real numbers is they.
      const auto given = std::find_if(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(k),
                                      [&](const Tensor& t) { return t.is_same(pool[k]); });
      const auto place = static_cast<std::size_t>(given - pool.begin());
      recorded_as.push_back(place < k && !is_control_flow ? recorded_as[place] : made_as);
    }
  }
  return std::ranges::any_of(operands, [&](const Operand& o) { return o.is_named_by(*named); });
}

Comparison compare_values(const Program& p, const TensorFunction& body, const TensorFunction& transformed,
                          std::size_t setting = 0) {
  const Outcome eager = outcome_of(p, {.gradients = false, .setting = setting}, body);
  Outcome other;
  try {
    other = outcome_of(p, {.gradients = false, .setting = setting}, transformed);
  } catch (const UserError& e) {
    return refused(p, e.what(), setting);
  }
  Allowance allowance(p, setting, false);
  std::optional<std::string> d = difference(eager, other, allowance);
  if (!d) d = aliasing_difference(eager, other);
  return d ? Comparison{Agreement::differs, *d} : Comparison{};
}

// On tensors, with gradients.
Comparison compare_with_gradients(const Program& p, const TensorFunction& body, const TensorFunction& transformed,
                                  Backward backward, std::size_t setting = 0) {
  const Outcome eager = outcome_of(p, {.setting = setting}, body);
  try {
    for (const Tensor& t : eager.results) t.grad_fn_name();
  } catch (const UserError& e) {
    Comparison c = compare_values(p, body, transformed, setting);
    if (c.agreement == Agreement::agrees) c = {Agreement::agrees_in_values, e.what()};
    return c;
  }
  Outcome other;
  try {
    other = outcome_of(p, {.setting = setting}, transformed);
  } catch (const UserError& e) {
    if (eager_refuses_too(p, eager, e.what(), setting) || refuses_where_nothing_is_shared(p, eager, e.what(), setting))
      return {Agreement::refused_backward, e.what()};
    return refuses_operand(p, e.what(), setting) ? Comparison{Agreement::refused_operand, e.what()}
                                                 : refused(p, e.what(), setting);
  }
  Comparison c;
  Allowance allowance(p, setting, true);
  std::optional<std::string> d = difference(eager, other, allowance);
  if (d && shares_nothing(p, eager) && !allowance.difference(seen_elements(eager), seen_elements(other)))
    return {Agreement::agrees_in_elements, *d};
  if (!d) d = gradient_difference(eager, other, allowance, backward, c.gradients);
  if (!d) d = aliasing_difference(eager, other);
  // PyTorch's words for gradients of some of the results alone, where they are wrappers.
  if (d && p.wrapped && d->find("attempted to compile the backward with incorrect subclass metadata") != std::string::npos)
    return {Agreement::refused_wrappers, *d, c.gradients};
  if (d) c = {Agreement::differs, *d, c.gradients};
  return c;
}

// As a graph, which has no gradients.
Comparison compare_as_graph(const Program& p, const TensorFunction& body) {
  std::optional<Traced> traced;
  try {
    traced.emplace(trace(functionalize(body), make_inputs(p, {.gradients = false}).inputs));
  } catch (const UserError& e) {
    return refused(p, e.what());
  }
  verify(traced->graph);
  const Comparison c = compare_values(p, body, [&](const TensorList& inputs) {
    TensorList results;
    for (const Value& v : Interpreter(traced->graph).run(Values(inputs.begin(), inputs.end()))) results.push_back(v.tensor());
    return results;
  });
  return c.agreement == Agreement::differs ? Comparison{Agreement::differs, "as a graph, " + c.what} : c;
}

}  // namespace

Comparison refused(const Program& p, const std::string& message, std::size_t setting, bool apart) {
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  const auto shows = [&](bool Conditions::* what) {
    return conditions_of(p, {.gradients = what == &Conditions::turns_leaf, .setting = setting}).*what;
  };
  const bool is_open = !p.settings[0].empty();
  if (says("as_strided() is non-compositional") && shows(&Conditions::writes_by_places))
    return {Agreement::refused_as_strided, message};
  if (says("as_strided() refers to a storage of which the functional program has a part") && shows(&Conditions::looks_past))
    return {Agreement::refused_storage, message};
  // At open sizes a storage has what the inputs have of it.
  const bool says_storage =
      says("bytes of a storage of which the program has") || (is_open && says(" are out of bounds for storage of size "));
  if (says_storage && looks_past_inputs(p, setting, apart)) return {Agreement::refused_storage, message};
  // Of open sizes, a result that shares memory with another.
  if (says("is an as_strided() that may look at elements which the tensor it is taken of does not have") && is_open &&
      looks_past_its_tensor(p, setting))
    return {Agreement::refused_storage, message};
  if (says("refers to the storage of a tensor with elements of others around or between its own") &&
      shows(&Conditions::refers_to_places))
    return {Agreement::refused_gaps, message};
  if (says("Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass") &&
      shows(&Conditions::grows))
    return {Agreement::refused_growing, message};
  if (says("Found an input that out= or resize_() made larger than its storage, which stays the caller's") &&
      resized_inputs(p, setting).larger)
    return {Agreement::refused_larger_input, message};
  if (says("Found an input that looks at fewer elements after out=, as_strided_() or resize_() than before") &&
      resized_inputs(p, setting).smaller)
    return {Agreement::refused_smaller_input, message};
  // The history that it had is of all its elements, and of the sizes that it had.
  if (says(" returned an invalid gradient at index "))
    if (const ResizedInputs r = resized_inputs(p, setting); r.smaller || r.reshaped)
      return {Agreement::refused_smaller_input, message};
  if ((says("no views of one tensor as the tape sees it") || says("non-differentiable view input mutations")) &&
      shares_storage_of_inputs(p, setting))
    return {Agreement::refused_histories, message};
  if (says("a history of its own") && makes_history_on_inputs(p, setting)) return {Agreement::refused_histories, message};
  if (p.wrapped && (says("at least one input/output to the graph is a tensor subclass") ||
                    says("currently unsupported in the subclass use case") ||
                    says("currently not allowed on tensor subclasses") || says("There was no rule registered for HOP")))
    return {Agreement::refused_wrappers, message};
  if (message.ends_with("_: a leaf Variable that requires grad is being used in an in-place operation.") &&
      shows(&Conditions::turns_leaf))
    return {Agreement::refused_leaf, message};
  return {Agreement::differs, "refused: " + message};
}

const char* name_of(Agreement a) {
  switch (a) {
    case Agreement::agrees: return "agree";
    case Agreement::agrees_in_values: return "agree in values, run without gradients: eager refuses the history of a result";
    case Agreement::agrees_in_elements: return "agree but for the histories of inputs that share a storage without elements";
    case Agreement::agrees_at_some_sizes: return "agree at some sizes; at others refused: a size that the recording fixed";
    case Agreement::refused_as_strided: return "refused: a write through as_strided of a view (R052)";
    case Agreement::refused_storage: return "refused: as_strided of elements of a storage that the argument does not have";
    case Agreement::refused_backward: return "refused in the words in which eager refuses the backward";
    case Agreement::refused_histories: return "refused: histories on one storage";
    case Agreement::refused_wrappers: return "refused: wrapper tensors that alias, lie otherwise and are written, or decide";
    case Agreement::refused_leaf: return "refused: an in-place view of a leaf under no_grad";
    case Agreement::refused_operand: return "refused: gradients of control flow whose operand was written";
    case Agreement::refused_looks: return "refused: an input that looks otherwise afterwards";
    case Agreement::refused_gaps: return "refused: elements of others around those of a written copy";
    case Agreement::refused_growing: return "refused: a view that out= would make larger";
    case Agreement::refused_larger_input: return "refused: an input whose storage out= would make larger";
    case Agreement::refused_smaller_input:
      return "refused: an input that out= makes smaller, or gives other sizes, while its elements may be written";
    case Agreement::refused_aliases: return "refused: an input that is written shares memory with another one";
    case Agreement::refused_strides: return "refused: strides that the recording fixed";
    case Agreement::refused_data: return "refused: a decision by data";
    case Agreement::refused_sizes: return "refused: a size that the recording fixed";
    case Agreement::differs: return "differ";
  }
  return "";
}

const char* name_of(GradientAgreement a) {
  switch (a) {
    case GradientAgreement::no_history: return "nothing requires grad";
    case GradientAgreement::agree: return "gradients agree";
    case GradientAgreement::agree_in_values: return "gradients agree, and one lies otherwise";
    case GradientAgreement::both_refuse: return "both refuse the backward";
    case GradientAgreement::refused_by_eager: return "eager alone refuses the backward";
    case GradientAgreement::refused: return "the other way alone refuses the backward";
  }
  return "";
}

Comparison compare_transformed(const Program& p, const std::function<TensorFunction(const TensorFunction&)>& transform,
                               std::size_t setting) {
  const TensorFunction body = body_of(p);
  return compare_with_gradients(p, body, transform(body), Backward::of_all, setting);
}

Comparison compare_functionalized(const Program& p) {
  const TensorFunction body = body_of(p);
  const Comparison on_tensors = compare_with_gradients(p, body, functionalize(body), Backward::of_that_one);
  if (on_tensors.agreement == Agreement::differs || p.wrapped) return on_tensors;  // graphs are of plain tensors
  const Comparison as_graph = compare_as_graph(p, body);
  if (as_graph.agreement == Agreement::agrees) return on_tensors;
  return {as_graph.agreement, as_graph.what, on_tensors.gradients};
}

}  // namespace ingot::testing
