#include "io/json.hpp"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.hpp"
#include "io/dense.hpp"
#include "io/json_writer.hpp"

namespace ingot {

namespace dom = simdjson::dom;

namespace {

constexpr std::size_t kDeepest = 1000;

std::string_view kind_of(dom::element e) {
  switch (e.type()) {
    case dom::element_type::ARRAY: return "a list";
    case dom::element_type::OBJECT: return "an object";
    case dom::element_type::INT64:
    case dom::element_type::UINT64: return "an integer";
    case dom::element_type::DOUBLE: return "a real number";
    case dom::element_type::STRING: return "a string";
    case dom::element_type::BOOL: return "a bool";
    case dom::element_type::NULL_VALUE: return "null";
  }
  return "something else";
}

// Where the document has an object with two fields of one name, and which name; nothing if there is
// none.
struct RepeatedKey {
  std::string path, key;
};
std::optional<RepeatedKey> find_repeated_key(dom::element e) {
  if (e.is_array()) {
    std::size_t i = 0;
    for (const dom::element child : dom::array(e)) {
      if (auto found = find_repeated_key(child)) {
        found->path.insert(0, text("[", i, "]"));
        return found;
      }
      i++;
    }
    return std::nullopt;
  }
  if (!e.is_object()) return std::nullopt;
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : dom::object(e)) {
    keys.push_back(key);
    if (auto found = find_repeated_key(value)) {
      found->path.insert(0, text(".", key));
      return found;
    }
  }
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return std::nullopt;
  return RepeatedKey{{}, std::string(*twice)};
}

// NaN and its like are strings here too, so every number is finite.
void write(dom::element e, JsonWriter& out) {
  switch (e.type()) {
    case dom::element_type::ARRAY:
      out.begin_list();
      for (const dom::element child : dom::array(e)) write(child, out);
      out.end();
      break;
    case dom::element_type::OBJECT:
      out.begin_object();
      for (const auto& [key, value] : dom::object(e)) write(value, out.key(key));
      out.end();
      break;
    case dom::element_type::INT64: out.value(int64_t(e)); break;
    case dom::element_type::UINT64: out.raw(std::to_string(uint64_t(e))); break;
    case dom::element_type::DOUBLE: out.value(double(e)); break;
    case dom::element_type::STRING: out.value(std::string_view(e)); break;
    case dom::element_type::BOOL: out.value(bool(e)); break;
    case dom::element_type::NULL_VALUE: out.null(); break;
  }
}

}  // namespace

struct Json::Parsed {
  static dom::element of(const Json& j) { return std::bit_cast<dom::element>(j.element_); }
  static Element carried(dom::element e) { return std::bit_cast<Element>(e); }
  // The key is one of the document's.
  static Json child(const Json& of, dom::element e, std::string_view key, int64_t index = -1) {
    return Json(carried(e), std::make_shared<const Step>(Step{of.at_, key, index}));
  }
  static dom::object object(const Json& j) {
    dom::object o;
    if (of(j).get(o) != simdjson::SUCCESS) j.expected("an object");
    return o;
  }
  static dom::array array(const Json& j) {
    dom::array a;
    if (of(j).get(a) != simdjson::SUCCESS) j.expected("a list");
    return a;
  }
};

struct JsonDocument::Parser {
  dom::parser of;
};

JsonDocument::JsonDocument(std::string text_, std::string what) : parser_(std::make_unique<Parser>()), what_(std::move(what)) {
  text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
  dom::element root;
  auto error = parser_->of.allocate(text_.size() + 1, kDeepest);
  constexpr bool kCopy = false;  // the text has the room that the parser wants behind it
  if (error == simdjson::SUCCESS) error = parser_->of.parse(text_.data(), text_.size(), kCopy).get(root);
  INGOT_REQUIRE(error == simdjson::SUCCESS, what_, ": ", std::string_view(simdjson::error_message(error)));
  root_ = Json::Parsed::carried(root);
  if (const auto twice = find_repeated_key(root)) {
    constexpr std::size_t kShown = 500;
    const std::string_view path = std::string_view(twice->path).substr(twice->path.starts_with('.') ? 1 : 0);
    throw_user_error(text(what_, ": ", path.substr(0, kShown), path.size() > kShown ? "…" : "", path.empty() ? "" : ": ",
                          "an object has two fields ", shown_name(twice->key)));
  }
}

JsonDocument::~JsonDocument() = default;

Json JsonDocument::root() const { return Json(root_, std::make_shared<const Json::Step>(Json::Step{nullptr, what_, -1})); }

bool Json::is_null() const { return Parsed::of(*this).is_null(); }
bool Json::is_string() const { return Parsed::of(*this).is_string(); }
bool Json::is_bool() const { return Parsed::of(*this).is_bool(); }
bool Json::is_integer() const { return Parsed::of(*this).is_int64() || Parsed::of(*this).is_uint64(); }
bool Json::is_object() const { return Parsed::of(*this).is_object(); }
bool Json::is_list() const { return Parsed::of(*this).is_array(); }

std::string Json::position() const {
  std::vector<const Step*> steps;
  for (const Step* s = at_.get(); s->up != nullptr; s = s->up.get()) steps.push_back(s);
  std::string out;
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (steps[i]->index >= 0) out += text("[", steps[i]->index, "]");
    else out += text(out.empty() ? "" : ".", steps[i]->key);
  }
  return out;
}
std::string Json::path() const {
  const std::string where = position();
  return where.empty() ? std::string(document()) : text(document(), ": ", where);
}
std::string_view Json::document() const {
  const Step* s = at_.get();
  while (s->up != nullptr) s = s->up.get();
  return s->key;
}

void Json::fail(const std::string& message) const { throw_user_error(text(path(), ": ", message)); }
void Json::expected(std::string_view kind) const { fail(text("expected ", kind, ", found ", kind_of(Parsed::of(*this)))); }

std::optional<Json> Json::find(std::string_view name) const {
  for (const auto& [key, value] : Parsed::object(*this))
    if (key == name) return Parsed::child(*this, value, key);
  return std::nullopt;
}

Json Json::field(std::string_view name) const {
  if (auto found = find(name)) return std::move(*found);
  const std::string where = position();
  throw_user_error(
      text(document(), ": ", struct_, ": field ", name, " is missing (at ", where.empty() ? "the top level" : where, ")"));
}

std::optional<Json> Json::optional(std::string_view name) const {
  auto found = find(name);
  if (found && found->is_null()) found.reset();
  return found;
}

std::vector<Json::Tagged> Json::fields() const {
  std::vector<Tagged> out;
  for (const auto& [key, value] : Parsed::object(*this)) out.emplace_back(key, Parsed::child(*this, value, key));
  return out;
}

Json::Tagged Json::tagged() const {
  const dom::object o = Parsed::object(*this);
  if (o.size() != 1) fail(text("expected an object with one field, found ", o.size(), " fields"));
  const auto [key, value] = *o.begin();
  return {key, Parsed::child(*this, value, key)};
}

void Json::for_each(const std::function<void(const Json&)>& f) const {
  int64_t i = 0;
  for (const dom::element e : Parsed::array(*this)) f(Parsed::child(*this, e, {}, i++));
}

std::vector<Json> Json::list() const {
  return map([](const Json& e) { return e; });
}

std::size_t Json::size() const {
  const dom::array a = Parsed::array(*this);
  return static_cast<std::size_t>(std::distance(a.begin(), a.end()));
}

int64_t Json::integer() const {
  int64_t v = 0;
  const dom::element e = Parsed::of(*this);
  if (e.is_uint64() && !e.is_int64()) fail("the integer is outside 64 bits with a sign");
  if (e.get(v) != simdjson::SUCCESS) expected("an integer");
  return v;
}

double Json::real() const {
  std::string_view s;
  if (Parsed::of(*this).get(s) == simdjson::SUCCESS) {
    if (s == "Infinity") return std::numeric_limits<double>::infinity();
    if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (s == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  double v = 0;
  if (Parsed::of(*this).get(v) != simdjson::SUCCESS) expected("a number");
  return v;
}

bool Json::boolean() const {
  bool v = false;
  if (Parsed::of(*this).get(v) != simdjson::SUCCESS) expected("a bool");
  return v;
}

std::string Json::dump() const {
  JsonWriter out;
  write(Parsed::of(*this), out);
  return out.take();
}

std::string Json::string() const {
  std::string_view v;
  if (Parsed::of(*this).get(v) != simdjson::SUCCESS) expected("a string");
  return std::string(v);
}

}  // namespace ingot
