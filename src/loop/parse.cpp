#include <algorithm>
#include <charconv>
#include <map>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "expr/range.hpp"
#include "expr/text.hpp"
#include "loop/spelling.hpp"
#include "loop/text.hpp"

namespace ingot::loop {
namespace {

using std::string_view;

// ---- text

bool is_quote(char c) { return c == '"'; }

std::size_t after_string(string_view s, std::size_t at) {  // of the quote that begins it
  for (at++; at < s.size() && !is_quote(s[at]); at++)
    if (s[at] == '\\') at++;
  return std::min(at + 1, s.size());
}

// Where `wanted` begins, outside of brackets and strings; npos: nowhere.
std::size_t find_outside(string_view s, string_view wanted) {
  int depth = 0;
  for (std::size_t at = 0; at < s.size();) {
    if (depth == 0 && s.substr(at).starts_with(wanted)) return at;
    if (is_quote(s[at])) {
      at = after_string(s, at);
      continue;
    }
    depth += string_view("([{").find(s[at]) != s.npos;
    depth -= string_view(")]}").find(s[at]) != s.npos;
    at++;
  }
  return s.npos;
}

std::vector<string_view> split_outside(string_view s, string_view separator) {
  std::vector<string_view> parts;
  while (!s.empty()) {
    const std::size_t at = find_outside(s, separator);
    parts.push_back(s.substr(0, at));
    s = at == s.npos ? string_view() : s.substr(at + separator.size());
  }
  return parts;
}

// The rest of a line, taken from its front.
class Rest {
 public:
  explicit Rest(string_view s) : s_(s) {}
  string_view all() const { return s_; }
  bool take(string_view word) {
    if (!s_.starts_with(word)) return false;
    s_.remove_prefix(word.size());
    return true;
  }
  void expect(string_view word) { INGOT_REQUIRE(take(word), "expected '", word, "', found ", found()); }
  // What comes before the separator, which is taken too.
  string_view before(string_view separator) {
    const std::size_t at = find_outside(s_, separator);
    INGOT_REQUIRE(at != s_.npos, "expected '", separator, "' in ", found());
    return cut(at, separator.size());
  }
  // The same where there is one; all that is left otherwise.
  string_view up_to(string_view separator) {
    const std::size_t at = find_outside(s_, separator);
    return at == s_.npos ? cut(s_.size(), 0) : cut(at, 0);
  }
  // What a bracket has inside; the next character opens it.
  string_view inside(char open, char close) {
    expect(string_view(&open, 1));
    const std::size_t at = find_outside(s_, string_view(&close, 1));
    INGOT_REQUIRE(at != s_.npos, "expected '", string_view(&close, 1), "' in ", found());
    return cut(at, 1);
  }
  std::string quoted() {
    INGOT_REQUIRE(!s_.empty() && is_quote(s_[0]), "expected a string in quotes, found ", found());
    const std::size_t end = after_string(s_, 0);
    INGOT_REQUIRE(end >= 2 && is_quote(s_[end - 1]), "expected the end of the string ", found());
    std::string r;
    for (std::size_t at = 1; at + 1 < end; at++) {
      if (s_[at] != '\\') r += s_[at];
      else r += s_[++at] == 'n' ? '\n' : s_[at];
    }
    s_.remove_prefix(end);
    return r;
  }
  void end() const { INGOT_REQUIRE(s_.empty(), "expected the end of the line, found ", found()); }

 private:
  string_view s_;

  string_view cut(std::size_t size, std::size_t separator) {
    const string_view taken = s_.substr(0, size);
    s_.remove_prefix(size + separator);
    return taken;
  }
  std::string found() const { return s_.empty() ? "the end of the line" : text("'", s_.substr(0, 40), "'"); }
};

int64_t number(string_view s) {
  int64_t v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  INGOT_REQUIRE(!s.empty() && r.ec == std::errc() && r.ptr == s.data() + s.size(), "expected a number, found '", s, "'");
  return v;
}

// ---- programs

class Parser {
 public:
  explicit Parser(string_view text) {
    for (std::size_t number = 1; !text.empty(); number++) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
      line.remove_prefix(indent);
      if (!line.empty()) lines_.push_back({line, indent, number});
    }
  }

  Program program() {
    try {
      header();
      while (at_ < lines_.size() && lines_[at_].indent == 2 && declaration(lines_[at_].text)) at_++;
      p_.inputs = ordered_[Place::input].value_or(buffers_in(p_, Place::input));
      p_.constants = ordered_[Place::constant].value_or(buffers_in(p_, Place::constant));
      p_.outputs = ordered_[Place::output].value_or(buffers_in(p_, Place::output));
      for (const int input : p_.inputs) {
        const auto n = numbers_.find(input);
        p_.numbers.push_back(n == numbers_.end() ? Expr() : n->second);
      }
      p_.steps = block(2);
      INGOT_REQUIRE(at_ == lines_.size(), "expected a step of the program, two spaces to the right");
      return std::move(p_);
    } catch (const UserError& e) {
      const std::size_t line = lines_.empty() ? 1 : lines_[std::min(at_, lines_.size() - 1)].number;
      throw_user_error(text("cannot parse loop program, line ", line, ": ", e.what()));
    }
  }

 private:
  struct Line {
    string_view text;
    std::size_t indent, number;
  };
  static constexpr std::size_t kMaxIndent = 400;

  std::vector<Line> lines_;
  std::size_t at_ = 0;
  Program p_;
  Names names_;  // symbols and buffers
  std::map<std::string, int, std::less<>> buffers_;
  std::map<int, Expr> numbers_;  // by buffer
  std::map<Place, std::optional<std::vector<int>>> ordered_;  // by a line that says so

  // -- parts of lines
  static std::vector<Expr> expressions(string_view list, const Names& names) {
    std::vector<Expr> all;
    for (const string_view e : split_outside(list, ", ")) all.push_back(parse(e, names));
    return all;
  }
  // Sizes, and places in memory.
  static Expr integer(string_view e, const Names& names, string_view what) {
    const Expr n = parse(e, names);
    INGOT_REQUIRE(n.dtype() == DType::i64, "expected an integer for ", what, ", found ", n);
    return n;
  }
  static std::vector<Expr> integers(string_view list, const Names& names, string_view what) {
    std::vector<Expr> all;
    for (const string_view e : split_outside(list, ", ")) all.push_back(integer(e, names, what));
    return all;
  }
  // "i0 < s0, i1 < 4": variables, which get their meaning in `scope`.
  std::vector<Expr> variables(string_view list, Names& scope) const {
    std::vector<Expr> all;
    for (const string_view v : split_outside(list, ", ")) all.push_back(variable(v, scope));
    return all;
  }
  Expr variable(string_view range, Names& scope) const {
    Rest rest(range);
    rest.expect("i");
    const int64_t id = number(rest.before(" < "));
    const Expr extent = integer(rest.all(), scope, text("the extent of i", id));  // of what is around it
    const Expr v = Expr::index(id, extent);
    scope.add(v);
    return v;
  }
  int buffer(string_view name) const {
    const auto found = buffers_.find(name);
    INGOT_REQUIRE(found != buffers_.end(), "there is no buffer '", name, "'");
    return found->second;
  }
  std::vector<int> buffer_list(string_view list) const {
    std::vector<int> all;
    for (const string_view name : split_outside(list, ", ")) all.push_back(buffer(name));
    return all;
  }
  Expr symbol(string_view name) const {
    const Expr* e = names_.find(name);
    INGOT_REQUIRE(e && e->op() == ExprOp::Sym, "there is no symbol '", name, "'");
    return *e;
  }
  static Expr temporary(string_view name, DType dtype) {
    Rest rest(name);
    rest.expect("%");
    return Expr::tmp(number(rest.all()), dtype);
  }

  // -- what comes before the steps
  void header() {
    INGOT_REQUIRE(!lines_.empty(), "expected a program, found nothing");
    Rest rest(lines_[at_++].text);
    rest.expect("program ");
    p_.name = rest.before("(");
    Rest symbols(rest.before(")"));
    for (const string_view s : split_outside(symbols.up_to("; "), ", ")) declare(s);
    if (symbols.take("; "))
      for (const string_view s : split_outside(symbols.all(), ", ")) declare(s), p_.decided++;
    if (rest.take(" arena ")) p_.arena_bytes = integer(rest.up_to("\n"), names_, "the bytes of the arena");
    rest.end();
  }
  void declare(string_view text) {
    Rest rest(text);
    const std::size_t end = text.find_first_of(": ");
    const string_view name = text.substr(0, end);
    rest.take(name);
    int64_t lo = Range::kMin, hi = kUnbounded;
    const bool is_real = rest.take(": real");
    if (rest.take(" >= ")) lo = number(rest.up_to(" <= "));
    if (rest.take(" <= ")) hi = number(rest.up_to("\n"));
    rest.end();
    INGOT_REQUIRE(lo <= hi, "expected a range that is not empty for '", name, "', found ", lo, " to ", hi);
    p_.symbols.push_back(is_real ? Expr::float_symbol(name) : Expr::symbol(name, lo, hi));
    names_.add(p_.symbols.back());
  }
  // Whether the line is one: a guard, a buffer, the order of inputs and so on.
  bool declaration(string_view text) {
    Rest rest(text);
    if (rest.take("guard ")) {
      Guard g;
      const std::size_t false_at = find_outside(text, " is false");
      g.condition = parse(rest.up_to(false_at == text.npos ? " for " : " is false"), names_);
      g.answer = !rest.take(" is false");
      if (rest.take(" for ")) g.asked_by = rest.quoted();
      rest.end();
      p_.guards.push_back(std::move(g));
      return true;
    }
    for (const auto& [place, word] : kPlaces) {
      if (rest.take(std::string(word) + " ")) return declare_buffer(place, rest), true;
      const std::string order = std::string(word) + "s";
      if (text != order && !text.starts_with(order + " ")) continue;
      rest.expect(order);
      rest.take(" ");
      ordered_[place] = buffer_list(rest.all());
      return true;
    }
    return false;
  }
  void declare_buffer(Place place, Rest rest) {
    Buffer b;
    b.place = place;
    b.name = rest.before(": ");
    b.dtype = dtype_from_name(rest.up_to("["));
    b.sizes = integers(rest.inside('[', ']'), names_, "a size");
    if (rest.take(" strides ")) {
      b.strides = integers(rest.inside('[', ']'), names_, "a stride");
      INGOT_REQUIRE(b.strides.size() == b.sizes.size(), "expected ", b.sizes.size(), " strides of '", b.name, "', found ",
                    b.strides.size());
    } else {
      b.strides.resize(b.sizes.size());
      Expr stride = 1;
      for (std::size_t d = b.sizes.size(); d-- > 0; stride = stride * b.sizes[d]) b.strides[d] = stride;
    }
    const int id = static_cast<int>(p_.buffers.size());
    if (rest.take(" at ")) b.offset = integer(rest.up_to(" is "), names_, "an offset");
    if (rest.take(" is ")) numbers_[id] = parse(rest.up_to("\n"), names_);
    rest.end();
    INGOT_REQUIRE(buffers_.emplace(b.name, id).second, "there are two buffers '", b.name, "'");
    names_.add_buffer(b.name, id, b.dtype);
    p_.buffers.push_back(std::move(b));
  }

  // -- steps
  Steps block(std::size_t indent) {
    INGOT_REQUIRE(indent <= kMaxIndent, "the steps nest too deeply");
    Steps all;
    while (at_ < lines_.size() && lines_[at_].indent == indent) {
      const string_view line = lines_[at_].text;
      if (line == "else" || line.starts_with("while ")) break;  // of the step that the block is in
      all.push_back(step(line, indent));
    }
    return all;
  }
  // Takes the line, and those of the step that come after it.
  Step step(string_view line, std::size_t indent) {
    Rest rest(line);
    if (rest.take("kernel ")) return kernel(rest, indent);
    if (rest.take("if ")) return branch(rest, indent);
    if (line == "repeat") return repeat(indent);
    if (rest.take("times ")) return times(rest, indent);
    Step made = rest.take("call ")    ? Step(kernel_call(rest))
                : rest.take("eager ") ? Step(eager_call(rest, false))
                : rest.take("host ")  ? Step(eager_call(rest, true))
                : rest.take("check ") ? Step(check(rest))
                                      : assignment(rest);
    at_++;
    return made;
  }

  Step assignment(Rest rest) {
    const string_view left = rest.before(" = ");
    if (left.ends_with("]")) return computation(Rest(left), rest);
    return Decide{symbol(left), parse(rest.all(), names_)};
  }
  Computation computation(Rest left, Rest right) {
    Computation c;
    Names scope = Names::within(names_);
    c.out = buffer(left.up_to("["));
    for (const string_view item : split_outside(left.inside('[', ']'), ", ")) {
      if (find_outside(item, " < ") != item.npos) c.vars.push_back(variable(item, scope));
      else c.leading.push_back(integer(item, names_, "an index"));
    }
    left.end();
    const string_view value = right.up_to(" where ");
    if (right.take(" where "))
      for (const string_view f : split_outside(right.all(), ", ")) c.folds.push_back(fold(Rest(f), scope));
    c.value = parse(value, scope);
    return c;
  }
  Fold fold(Rest rest, Names& scope) const {
    Fold f;
    const string_view name = rest.before(" = "), word = rest.up_to("(");
    const auto* how = std::ranges::find(kFolds, word, &FoldSpelling::word);
    INGOT_REQUIRE(how != std::end(kFolds), "expected sum, product, min, max, all or any, found '", word, "'");
    f.how = how->how;
    Names inner = Names::within(scope);
    f.vars = variables(rest.inside('(', ')'), inner);
    rest.expect(" ");
    f.body = parse(rest.all(), inner);
    f.tmp = temporary(name, f.body.dtype());
    scope.add(f.tmp);
    return f;
  }

  Kernel kernel(Rest rest, std::size_t indent) {
    Kernel k;
    Names scope = Names::within(names_);
    k.name = rest.up_to(" ");
    if (rest.take(" parallel ")) {
      const bool is_across = find_outside(rest.all(), " across") != string_view::npos;
      k.outer = variables(rest.up_to(is_across ? " across" : " scratch "), scope);
    }
    k.across = rest.take(" across");
    if (rest.take(" scratch ")) k.scratch_bytes = integer(rest.up_to("\n"), names_, "the bytes of scratch memory");
    rest.end();
    for (at_++; at_ < lines_.size() && lines_[at_].indent == indent + 2; at_++) {
      Rest line(lines_[at_].text);
      if (line.take("product ")) {
        INGOT_REQUIRE(!k.product, "expected one product in kernel '", k.name, "', found a second");
        k.product = product(line, scope);
        k.product->place = k.nests.size();
      } else {
        k.nests.push_back(nest(line, scope));
      }
    }
    return k;
  }
  Nest nest(Rest rest, Names& kernel) const {
    Nest n;
    Names scope = Names::within(kernel);
    if (rest.take("for ")) n.vars = variables(rest.before(": "), scope);
    else rest.expect("do: ");
    for (const string_view statement : split_outside(rest.all(), "; ")) {
      Rest s(statement);
      if (!statement.starts_with("%")) {
        n.stores.push_back(store(s, scope));
        continue;
      }
      const string_view name = s.before(" "), sign = s.before(" ");
      const auto* how = std::ranges::find(kFolds, sign, &FoldSpelling::assignment);
      INGOT_REQUIRE(how != std::end(kFolds), "expected +=, *=, min=, max=, and= or or=, found '", sign, "'");
      const Expr body = parse(s.all(), scope), tmp = temporary(name, body.dtype());
      n.folds.push_back({tmp, how->how, n.vars, body});
      kernel.add(tmp);
    }
    return n;
  }
  Store store(Rest rest, const Names& scope) const {
    const int out = buffer(rest.up_to("["));
    const Expr offset = integer(rest.inside('[', ']'), scope, "an index");
    rest.expect(" = ");
    return {out, offset, parse(rest.all(), scope)};
  }
  Product::Element element(string_view text, const Names& scope) const {
    Rest rest(text);
    const int of = buffer(rest.up_to("["));
    const Expr offset = integer(rest.inside('[', ']'), scope, "an index");
    rest.end();
    return {of, offset};
  }
  Product product(Rest rest, const Names& kernel) const {
    Product x;
    Names scope = Names::within(kernel);
    const string_view sums = rest.before(" = "), rows = rest.before(" * "), columns = rest.before(" over ");
    x.k = variables(rest.before(" as "), scope);
    x.types.rows = dtype_from_name(rest.before(" * "));
    x.types.columns = dtype_from_name(rest.before(" in "));
    x.types.sums = dtype_from_name(rest.up_to("; "));
    if (rest.take("; for ")) x.vars = variables(rest.up_to("; "), scope);
    rest.expect("; rows ");
    x.row = variable(rest.before(", columns "), scope);
    x.column = variable(rest.before(" by "), scope);
    x.microkernel = rest.up_to(" ");
    INGOT_REQUIRE(!x.microkernel.empty(), "expected the name of a microkernel, found the end of the line");
    rest.end();
    x.rows = element(rows, scope);
    x.columns = element(columns, scope);
    x.sums = element(sums, scope);
    return x;
  }

  KernelCall kernel_call(Rest rest) const {
    KernelCall k;
    k.symbol = rest.up_to("(");
    for (const string_view a : split_outside(rest.inside('(', ')'), ", ")) k.args.push_back(argument(a));
    rest.end();
    return k;
  }
  KernelCall::Argument argument(string_view text) const {
    using enum KernelCall::Argument::Kind;
    Rest rest(text);
    if (text == "null") return {null, 0, {}};
    if (rest.take("&")) return {write, buffer(rest.all()), {}};
    if (rest.take("int ")) return {int32, 0, {parse(rest.all(), names_)}};
    if (text.starts_with("{")) return {array, 0, expressions(rest.inside('{', '}'), names_)};
    if (text.starts_with("(")) return {int64, 0, {parse(rest.inside('(', ')'), names_)}};
    return {read, buffer(text), {}};
  }

  EagerCall eager_call(Rest rest, bool by_host) const {
    EagerCall c;
    c.by_host = by_host;
    c.op = rest.before(" ");
    c.draws = rest.take("draws ");
    c.text = rest.quoted();
    rest.expect(" ");
    Rest given(rest.inside('(', ')'));
    c.tensors = buffer_list(given.up_to("; "));
    if (given.take("; ")) c.integers = expressions(given.all(), names_);
    rest.expect(" -> ");
    c.results = buffer_list(rest.inside('(', ')'));
    if (!rest.take(" ")) return rest.end(), c;
    for (const string_view decided : split_outside(rest.all(), ", ")) {
      Rest d(decided);
      const Expr of = symbol(d.before(" = size "));
      const auto dim = static_cast<int>(number(d.before(" of ")));
      c.decides.push_back({static_cast<int>(number(d.all())), dim, of});
    }
    return c;
  }
  Check check(Rest rest) const {
    const string_view condition = rest.before(" else ");
    Check c{parse(condition, names_), rest.quoted()};
    rest.end();
    return c;
  }

  Branch branch(Rest rest, std::size_t indent) {
    Branch b;
    b.condition = parse(rest.all(), names_);
    at_++;
    b.then = block(indent + 2);
    expect_line("else", indent);
    b.otherwise = block(indent + 2);
    return b;
  }
  Repeat repeat(std::size_t indent) {
    Repeat r;
    at_++;
    r.test = block(indent + 2);
    Rest rest(expect_line("while ", indent));
    rest.expect("while ");
    r.condition = parse(rest.all(), names_);
    r.body = block(indent + 2);
    return r;
  }
  Times times(Rest rest, std::size_t indent) {
    Times t;
    t.symbol = symbol(rest.before(" < "));
    t.count = integer(rest.all(), names_, "a count");
    at_++;
    t.body = block(indent + 2);
    return t;
  }
  string_view expect_line(string_view start, std::size_t indent) {
    const bool is_there = at_ < lines_.size() && lines_[at_].indent == indent && lines_[at_].text.starts_with(start);
    INGOT_REQUIRE(is_there, "expected '", start, "', as far to the right as the step that it belongs to");
    return lines_[at_++].text;
  }
};

}  // namespace

Program parse_program(std::string_view text) { return Parser(text).program(); }

}  // namespace ingot::loop
