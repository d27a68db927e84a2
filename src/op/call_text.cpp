#include "op/call_text.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "op/fits.hpp"
#include "op/text_constant.hpp"

namespace ingot {

// ---- reading

class ParsedCall::Reader {
 public:
  Reader(ParsedCall& call, std::string_view text, Find find) : call_(call), in_(text, "<call>"), find_(find) {}

  void read() {
    const std::size_t at = in_.position();
    const std::string target = in_.accept_path();
    call_.op_ = find_target(target);
    if (!call_.op_) in_.fail(at, text("there is no op '", target, "' here"));
    in_.expect("(");
    arguments();
    in_.end_line();
  }

 private:
  static constexpr int kMaxDepth = 8, kMaxIndex = 1 << 20;
  ParsedCall& call_;
  TextCursor in_;
  Find find_;

  // "aten.topk.default" is "topk", "prims.sum.default" is "prims::sum".
  const Op* find_target(std::string_view target) const {
    const std::size_t dot = target.find('.');
    if (dot == target.npos) return nullptr;
    std::string_view name = target.substr(dot + 1);
    constexpr std::string_view kDefault = ".default";
    if (name.ends_with(kDefault)) name.remove_suffix(kDefault.size());
    const std::string_view ns = target.substr(0, dot);
    return ns == "aten" ? find_(name) : find_(text(ns, "::", name));
  }

  void arguments() {
    const auto& params = call_.op_->schema.args;
    std::vector<bool> given(params.size());
    call_.args_.resize(params.size());
    std::size_t positional = 0;
    while (!in_.accept(")")) {
      const std::size_t at = (in_.peek(), in_.position());
      const std::size_t i = in_.at_keyword_argument() ? keyword() : positional++;
      if (i < params.size() ? given[i] : !call_.op_->schema.variadic_args)
        in_.fail(at, text("an argument too many for ", to_text(call_.op_->schema)));
      if (i < params.size()) {
        given[i] = true;
        call_.args_[i] = argument(&params[i].type, 0);
      } else {
        call_.args_.push_back(argument(nullptr, 0));
      }
      if (!in_.accept(",") && in_.peek() != ')') in_.expected("',' or ')'");
    }
    for (std::size_t i = 0; i < params.size(); i++) {
      if (given[i]) continue;
      if (!params[i].has_default)
        in_.fail(in_.position() - 1,
                 text("argument '", params[i].name, "' is missing; the schema is ", to_text(call_.op_->schema)));
      call_.args_[i] = {params[i].default_value};
    }
  }

  std::size_t keyword() {
    const std::size_t at = in_.position();
    const int i = call_.op_->schema.index_of(in_.expect_identifier("the name of an argument"));
    if (i < 0) in_.fail(at, text("there is no such argument; the schema is ", to_text(call_.op_->schema)));
    in_.expect("=");
    return static_cast<std::size_t>(i);
  }

  Argument argument(const SchemaType* type, int depth) {
    const char c = in_.peek();
    if (c == '%' || c == '#' || c == '~') return hole(c);
    if (c == '[') return list(type, depth);
    if (auto constant = accept_constant(in_)) return {*std::move(constant)};
    in_.expected("an argument");
  }

  Argument hole(char kind) {
    in_.expect(std::string_view(&kind, 1));
    const std::size_t at = in_.position();
    const Value k = in_.number();
    if (!k.is_int() || k.to_int() < 0 || k.to_int() > kMaxIndex) in_.fail(at, "expected the number of a tensor or integer");
    const int index = static_cast<int>(k.to_int64());
    int& count = kind == '%' ? call_.tensors_ : call_.integers_;
    count = std::max(count, index + 1);
    return {Hole{kind, static_cast<std::size_t>(index)}};
  }

  Argument list(const SchemaType* type, int depth) {
    if (depth >= kMaxDepth) in_.fail(in_.position(), text("lists nest deeper than ", kMaxDepth));
    in_.expect("[");
    const bool typed = type != nullptr && type->is_list();
    const SchemaType element = typed ? element_type(*type) : SchemaType();
    std::vector<Argument> elements;
    bool constant = true;
    while (!in_.accept("]")) {
      elements.push_back(argument(typed ? &element : nullptr, depth + 1));
      constant &= std::holds_alternative<Value>(elements.back().of);
      if (!in_.accept(",") && in_.peek() != ']') in_.expected("',' or ']'");
    }
    if (elements.empty()) return {empty_list(type)};
    Argument all{std::move(elements)};
    return constant ? Argument{bound(all, {}, {})} : all;
  }
};

ParsedCall::ParsedCall(std::string_view text, Find find) { Reader(*this, text, find).read(); }

Value ParsedCall::bound(const Argument& a, std::span<const Tensor> tensors, std::span<const int64_t> integers) {
  if (const auto* v = std::get_if<Value>(&a.of)) return *v;
  if (const auto* h = std::get_if<Hole>(&a.of)) {
    if (h->kind == '%') return tensors[h->index];
    return h->kind == '#' ? Value(integers[h->index]) : Value(std::bit_cast<double>(integers[h->index]));
  }
  Values elements;
  for (const Argument& e : std::get<std::vector<Argument>>(a.of)) elements.push_back(bound(e, tensors, integers));
  return list_value(std::move(elements));
}

Values ParsedCall::arguments(std::span<const Tensor> tensors, std::span<const int64_t> integers) const {
  Values out;
  out.reserve(args_.size());
  for (const Argument& a : args_) out.push_back(bound(a, tensors, integers));
  return out;
}

// ---- writing

namespace {

class Writer {
 public:
  CallText out;

  std::string argument(const Value& v) {
    if (v.is_tensor()) return tensor(v.tensor());
    if (v.is_int()) return v.to_int().is_number() ? to_text(v) : number('#', v);
    if (v.is_float() && v.to_float().is_symbolic()) return number('~', v);
    INGOT_REQUIRE(!v.is_function() && !v.is_generator(), "a ", v.kind_name(),
                  " cannot be an argument of a call that compiled code makes");
    if (!v.is_ints() && !v.is_tensors() && !v.is_values()) return constant_text(v);
    std::string list = "[";
    for (const Value& e : list_elements(v)) list += text(list.size() == 1 ? "" : ", ", argument(e));
    return list += "]";
  }

 private:
  std::string tensor(const Tensor& t) {
    const auto it = std::find_if(out.tensors.begin(), out.tensors.end(), [&](const Tensor& o) { return o.is_same(t); });
    const auto k = it - out.tensors.begin();
    if (it == out.tensors.end()) out.tensors.push_back(t);
    return text("%", k);
  }
  std::string number(char kind, const Value& v) {
    const auto it = std::find_if(out.integers.begin(), out.integers.end(), [&](const Value& o) { return o.same(v); });
    const auto k = it - out.integers.begin();
    if (it == out.integers.end()) out.integers.push_back(v);
    return std::string(1, kind) + std::to_string(k);
  }
};

}  // namespace

std::string call_arguments_text(const Op& op, std::size_t count, const std::function<bool(std::size_t)>& is_default,
                                const std::function<std::string(std::size_t)>& text_of_argument) {
  const auto& params = op.schema.args;
  const auto keyword = [&](std::size_t i) { return i < params.size() && params[i].keyword_only; };
  std::size_t positional = 0;
  for (std::size_t i = 0; i < count; i++)
    if (!keyword(i) && !is_default(i)) positional = i + 1;
  std::string out;
  for (std::size_t i = 0; i < count; i++) {
    if (keyword(i) ? is_default(i) : i >= positional) continue;
    out += text(out.empty() ? "" : ", ", keyword(i) ? params[i].name + " = " : "", text_of_argument(i));
  }
  return out;
}

CallText text_of(const Call& call) {
  const Op& op = call.op.functional ? *call.op.functional : call.op;
  Values args;
  for (std::size_t i = 0; i < call.args.size(); i++)
    if (call.op.variant != Variant::out || !call.op.schema.args[i].type.writes()) args.push_back(call.args[i]);
  const auto is_default = [&](std::size_t i) {
    if (i >= op.schema.args.size()) return false;
    const SchemaArg& a = op.schema.args[i];
    return a.has_default && args[i].same(a.default_value);
  };
  Writer w;
  w.out.op = &op;
  const Schema& s = op.schema;
  w.out.text = text(s.ns, ".", s.name, ".", s.overload.empty() ? "default" : s.overload, "(");
  w.out.text += call_arguments_text(op, args.size(), is_default, [&](std::size_t i) { return w.argument(args[i]); }) + ")";
  return std::move(w.out);
}

}  // namespace ingot
