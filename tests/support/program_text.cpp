// Programs as texts: for people, as C++, as the graph of their calls.
#include <cstdio>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/transforms.hpp"
#include "op/call.hpp"
#include "support/random_program.hpp"

namespace ingot::testing {
namespace {

std::string size_text(const SizeArg& a, const std::string& tensor) {
  return a.tensor < 0 ? text(a.number) : text(tensor, a.tensor, ".size(", a.dim, ")");
}

template <class List, class F>
std::string joined(const List& l, const F& f) {
  std::string s;
  for (const auto& e : l) s += (s.empty() ? "" : ", ") + f(e);
  return s;
}

// Tensors are called by what stands before their number.
std::string arg_text(const StepArg& a, const std::string& tensor) {
  const auto name = [&](int k) { return k < 0 ? std::string("None") : text(tensor, k); };
  switch (a.kind) {
    case StepArg::Kind::value: return ingot::to_text(a.value);
    case StepArg::Kind::tensor: return name(a.tensors[0]);
    case StepArg::Kind::tensors: return "[" + joined(a.tensors, name) + "]";
    case StepArg::Kind::size: return size_text(a.sizes[0], tensor);
    case StepArg::Kind::sizes: return "[" + joined(a.sizes, [&](const SizeArg& e) { return size_text(e, tensor); }) + "]";
  }
  return {};
}

std::string step_text(const Step& s) {
  std::string out = s.op + "(" + joined(s.args, [](const StepArg& a) { return arg_text(a, "#"); });
  if (s.out >= 0) out += text(", out=#", s.out);
  return out + ")" + (s.no_grad ? " under no_grad" : "");
}

std::string base_size(int64_t n) { return n >= 0 ? text(n) : std::string(1, static_cast<char>('n' + (-1 - n))); }

// ---- C++

std::string cpp_value(const Value& v) {
  if (v.is_none()) return "Value()";
  if (v.is_bool()) return v.to_bool() ? "true" : "false";
  if (v.is_ints()) return "Shape{" + joined(v.ints(), [](const Int& i) { return text(i); }) + "}";
  if (v.is_dtype()) {
    static constexpr const char* kNames[] = {"u8",   "i8", "i16",  "i32",      "i64",    "f16", "f32", "f64", "c64",
                                             "c128", "b8", "bf16", "f8e4m3fn", "f8e5m2", "u16", "u32", "u64"};
    return text("DType::", kNames[static_cast<int>(v.dtype())]);
  }
  if (v.is_string()) return "\"" + v.string() + "\"";
  if (v.is_floats()) return "std::vector<double>{" + joined(v.floats(), [](double d) { return text(d); }) + "}";
  if (v.is_bools())
    return "std::vector<bool>{" + joined(v.bools(), [](bool d) { return std::string(d ? "true" : "false"); }) + "}";
  if (v.is_memory_format())
    return v.memory_format() == MemoryFormat::channels_last ? "MemoryFormat::channels_last" : "MemoryFormat::contiguous";
  return ingot::to_text(v);
}

std::string cpp_arg(const StepArg& a) {
  const auto name = [](int k) { return k < 0 ? std::string("Tensor()") : text("t", k); };
  switch (a.kind) {
    case StepArg::Kind::value: return cpp_value(a.value);
    case StepArg::Kind::tensor: return a.tensors[0] < 0 ? "Value()" : name(a.tensors[0]);
    case StepArg::Kind::tensors: return "TensorList{" + joined(a.tensors, name) + "}";
    case StepArg::Kind::size: return size_text(a.sizes[0], "t");
    case StepArg::Kind::sizes: return "Shape{" + joined(a.sizes, [](const SizeArg& e) { return size_text(e, "t"); }) + "}";
  }
  return {};
}

const ProgramFunction* function_named(const std::string& name) {
  for (const ProgramFunction& f : program_functions())
    if (name == f.name) return &f;
  return nullptr;
}

// The call, and the names of the `made` tensors that it makes.
std::string cpp_step(const Step& s, int first, int made) {
  std::vector<StepArg> args = s.args;
  std::string list = joined(args, cpp_arg), call;
  const ProgramFunction* f = function_named(s.op);
  if (f) call = text("(", f->code, ")(TensorList{", list, "})");
  if (s.out >= 0) {
    const Op& o = op(s.op);
    for (std::size_t k = args.size(); k + 1 < o.schema.args.size(); k++) list += ", " + cpp_value(o.schema.args[k].default_value);
    list += text(", t", s.out);
  }
  if (!f && made == 0)
    return text(s.no_grad ? "{ const NoGrad no_grad; " : "", "aten_value<\"", s.op, "\">(", list, ");", s.no_grad ? " }" : "");
  const bool is_tensor = !f && made == 1 && !op(s.op).returns_list();
  if (!f) call = text(is_tensor ? "aten<\"" : "atens<\"", s.op, "\">(", list, ")");
  if (s.no_grad) call = text("[&] { const NoGrad no_grad; return ", call, "; }()");
  if (is_tensor) return text("const Tensor t", first, " = ", call, ";");
  std::string line = text("const TensorList l", first, " = ", call, ";");
  for (int k = 0; k < made; k++) line += text(" const Tensor t", first + k, " = l", first, "[", k, "];");
  return line;
}

std::string cpp_double(double x) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.17g", x);
  return digits;
}

// What makes the leaf of a base at the first sizes; short ones with their numbers.
std::string cpp_leaf(const Program& p, std::size_t b) {
  const Base& base = p.bases[b];
  const Shape sizes = sizes_of(p, b, 0);
  const std::string dtype = cpp_value(base.dtype), shape = cpp_value(sizes);
  const int64_t n = sizes.product().value();
  std::string leaf;
  if (p.grid) {
    leaf = text("aten<\"add.Scalar\">(aten<\"mul.Scalar\">(aten<\"arange\">(", n, ", ", dtype, "), 0.1), ",
                cpp_double(0.05 * (static_cast<double>(b) + 1)), ").view(", shape, ").clone()");
  } else if (n == 0 || n > 64) {
    leaf = text("testing::drawn_values({", p.seed, ", ", b, ", ", dtype, ", ", base.below, ", ", cpp_double(base.shift), "}, ",
                shape, ").to(", dtype, ")");
  } else {
    Tensor values = drawn_values({p.seed, b, base.dtype, base.below, base.shift}, sizes).to(base.dtype);
    if (is_complex(base.dtype)) values = aten<"view_as_real">(values);
    leaf = text("tensor({", joined(values.to_vector<double>(), cpp_double), "}, DType::f64)");
    if (is_complex(base.dtype)) leaf = text("aten<\"view_as_complex\">(", leaf, ".view({-1, 2}))");
    leaf += text(".to(", dtype, ").view(", shape, ").clone()");
  }
  if (!p.wrapped) return leaf;
  return text("testing::two_tensor(", leaf, ", ", leaf, is_differentiable(base.dtype) ? " * 0.5)" : ".clone())");
}

std::string cpp_inputs(const Program& p) {
  std::string out = "TensorList inputs() {\n";
  for (std::size_t b = 0; b < p.bases.size(); b++) {
    const Base& base = p.bases[b];
    out += text("  ", base.requires_grad ? "" : "const ", "Tensor leaf", b, " = ", cpp_leaf(p, b), ";\n");
    if (base.requires_grad) out += text("  leaf", b, ".requires_grad_();\n");
    out += text("  const Tensor base", b, " = ", is_differentiable(base.dtype) && !base.leaf ? "aten<\"mul.Scalar\">(" : "",
                "leaf", b,
                base.leaf                       ? ""
                : is_differentiable(base.dtype) ? ", 1.0)"
                                                : ".clone()",
                ";\n");
  }
  for (std::size_t i = 0; i < p.inputs.size(); i++) {
    const ProgramInput& input = p.inputs[i];
    out += text("  const Tensor in", i, " = ");
    if (input.views.empty()) {
      out += text("base", input.base, ";\n");
      continue;
    }
    out += text("[&] { const Tensor t0 = base", input.base, "; ");
    int made = 1;
    for (const Step& s : input.views) out += cpp_step(s, made++, 1) + " ";
    out += text("return t", made - 1, "; }();\n");
  }
  out += "  return {";
  for (std::size_t i = 0; i < p.inputs.size(); i++) out += text(i ? ", " : "", "in", i);
  return out + "};\n}\n";
}

// ---- Python

// Arguments that the schema takes by name alone are named.
std::string python_call(const Step& s) {
  const Op* o = find_op(s.op);
  std::string list;
  for (std::size_t k = 0; k < s.args.size(); k++) {
    const bool named = o && o->schema.args[k].keyword_only;
    list += text(k ? ", " : "", named ? o->schema.args[k].name + "=" : "", arg_text(s.args[k], "t"));
  }
  if (s.out >= 0) list += text(", out=t", s.out);
  if (!o) return text(s.op, "(", list, ")");
  return text("aten.", o->schema.name, ".", o->schema.overload.empty() ? "default" : o->schema.overload, "(", list, ")");
}

}  // namespace

std::string to_text(const Program& p) {
  std::string out;
  for (std::size_t b = 0; b < p.bases.size(); b++) {
    const Base& base = p.bases[b];
    out += text("base ", b, ": ", base.dtype, "[", joined(base.sizes, base_size), "]", base.requires_grad ? " requires grad" : "",
                base.shift != 0 ? text(" around ", base.shift) : "",
                base.is_weight ? ", a weight"
                : base.leaf    ? ", a leaf"
                               : "",
                "\n");
  }
  if (p.settings.size() > 1 || !p.settings[0].empty())
    out += "open sizes: " +
           joined(p.settings,
                  [](const std::vector<int64_t>& s) { return "(" + joined(s, [](int64_t n) { return text(n); }) + ")"; }) +
           "\n";
  if (p.wrapped) out += "inputs are TwoTensors\n";
  for (std::size_t i = 0; i < p.inputs.size(); i++) {
    out += text("#", i, " = base ", p.inputs[i].base);
    for (const Step& s : p.inputs[i].views) out += "; " + step_text(s);
    out += "\n";
  }
  for (const Step& s : p.body) out += step_text(s) + "\n";
  return out + "return " + joined(p.outputs, [](int k) { return text("#", k); }) + "\n";
}

std::string to_cpp(const Program& p) {
  std::string out = cpp_inputs(p) + text("TensorList program(const TensorList& in) {  // after manual_seed(", p.seed, ")\n");
  for (std::size_t i = 0; i < p.inputs.size(); i++) out += text("  const Tensor t", i, " = in[", i, "];\n");
  TensorList pool = make_inputs(p).inputs;
  manual_seed(p.seed);
  for (const Step& s : p.body) {
    const int first = static_cast<int>(pool.size());
    execute(s, pool);
    out += "  " + cpp_step(s, first, static_cast<int>(pool.size()) - first) + "\n";
  }
  return out + "  return {" + joined(p.outputs, [](int k) { return text("t", k); }) + "};\n}\n";
}

std::string to_cpp(const Program& p, const std::string& name) { return "namespace " + name + " {\n" + to_cpp(p) + "}\n"; }

std::string to_python(const Step& s, int first, int made) {
  const Op* o = find_op(s.op);
  const bool is_list = !o || o->returns_list() || o->schema.results.size() > 1;
  std::string names;
  for (int k = 0; k < made; k++) names += text(k ? ", " : "", "t", first + k);
  if (made > 0) names += is_list ? ", = " : " = ";
  return text(s.no_grad ? "with torch.no_grad(): " : "", names, python_call(s));
}

std::string to_python(const Program& p, bool last_is_refused) {
  TensorList pool = make_inputs(p).inputs;
  std::string out = "def program(";
  for (std::size_t i = 0; i < pool.size(); i++) out += text(i ? ", " : "", "t", i);
  out += "):\n";
  manual_seed(p.seed);
  for (std::size_t k = 0; k < p.body.size(); k++) {
    const int first = static_cast<int>(pool.size());
    if (!(last_is_refused && k + 1 == p.body.size())) execute(p.body[k], pool);
    out += "    " + to_python(p.body[k], first, static_cast<int>(pool.size()) - first) + "\n";
  }
  return out + "    return [" + joined(p.outputs, [](int k) { return text("t", k); }) + "]\n";
}

std::string to_fx(const Program& p) {
  try {
    return make_fx([&](const TensorList& in) { return run(p, in); }, make_inputs(p, {.gradients = false}).inputs).text();
  } catch (const UserError& e) {
    return text("no graph: ", e.what(), "\n");
  }
}

}  // namespace ingot::testing
