#include "import/json.hpp"

#include <algorithm>
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

void require_unique_keys(dom::element e, const std::string& what) {
  if (e.is_array()) {
    for (const dom::element child : dom::array(e)) require_unique_keys(child, what);
    return;
  }
  if (!e.is_object()) return;
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : dom::object(e)) {
    keys.push_back(key);
    require_unique_keys(value, what);
  }
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  INGOT_REQUIRE(twice == keys.end(), what, ": an object has two fields ", shown_name(*twice));
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

JsonDocument::JsonDocument(std::string_view text_, std::string what) : what_(std::move(what)) {
  const simdjson::padded_string padded(text_);
  auto error = parser_.allocate(padded.size() + 1, kDeepest);
  if (error == simdjson::SUCCESS) error = parser_.parse(padded).get(root_);
  INGOT_REQUIRE(error == simdjson::SUCCESS, what_, ": ", std::string_view(simdjson::error_message(error)));
  require_unique_keys(root_, what_);
}

Json JsonDocument::root() const {
  return Json(root_, std::make_shared<const Json::Step>(Json::Step{nullptr, what_, -1}));
}

Json Json::child(dom::element e, std::string_view key, int64_t index) const {
  return Json(e, std::make_shared<const Step>(Step{at_, std::string(key), index}));
}

std::string Json::position() const {
  std::vector<const Step*> steps;
  for (const Step* s = at_.get(); s->up != nullptr; s = s->up.get()) steps.push_back(s);
  std::string out;
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (steps[i]->index >= 0) out += text("[", steps[i]->index, "]");
    else out += (out.empty() ? "" : ".") + steps[i]->key;
  }
  return out;
}
std::string Json::path() const {
  const std::string where = position();
  return where.empty() ? document() : text(document(), ": ", where);
}
const std::string& Json::document() const {
  const Step* s = at_.get();
  while (s->up != nullptr) s = s->up.get();
  return s->key;
}

void Json::fail(const std::string& message) const { throw_user_error(text(path(), ": ", message)); }
void Json::expected(std::string_view kind) const { fail(text("expected ", kind, ", found ", kind_of(element_))); }

dom::object Json::object() const {
  dom::object o;
  if (element_.get(o) != simdjson::SUCCESS) expected("an object");
  return o;
}

Json Json::field(std::string_view name) const {
  dom::element e;
  if (object().at_key(name).get(e) != simdjson::SUCCESS) {
    const std::string where = position();
    throw_user_error(text(document(), ": ", struct_, ": field ", name, " is missing (at ",
                          where.empty() ? "the top level" : where, ")"));
  }
  return child(e, name);
}

std::optional<Json> Json::optional(std::string_view name) const {
  dom::element e;
  if (object().at_key(name).get(e) != simdjson::SUCCESS || e.is_null()) return std::nullopt;
  return child(e, name);
}

std::vector<Json::Tagged> Json::fields() const {
  std::vector<Tagged> out;
  for (const auto& [key, value] : object()) out.emplace_back(key, child(value, key));
  return out;
}

Json::Tagged Json::tagged() const {
  auto all = fields();
  if (all.size() != 1) fail(text("expected an object with one field, found ", all.size(), " fields"));
  return std::move(all[0]);
}

std::vector<Json> Json::list() const {
  dom::array a;
  if (element_.get(a) != simdjson::SUCCESS) expected("a list");
  std::vector<Json> out;
  for (const dom::element e : a) out.push_back(child(e, {}, static_cast<int64_t>(out.size())));
  return out;
}

int64_t Json::integer() const {
  int64_t v = 0;
  if (element_.is_uint64() && !element_.is_int64()) fail("the integer is outside 64 bits with a sign");
  if (element_.get(v) != simdjson::SUCCESS) expected("an integer");
  return v;
}

double Json::real() const {
  std::string_view s;
  if (element_.get(s) == simdjson::SUCCESS) {
    if (s == "Infinity") return std::numeric_limits<double>::infinity();
    if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (s == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  double v = 0;
  if (element_.get(v) != simdjson::SUCCESS) expected("a number");
  return v;
}

bool Json::boolean() const {
  bool v = false;
  if (element_.get(v) != simdjson::SUCCESS) expected("a bool");
  return v;
}

Value Json::constant() const {
  switch (element_.type()) {
    case dom::element_type::INT64:
    case dom::element_type::UINT64: return integer();
    case dom::element_type::DOUBLE: return real();
    case dom::element_type::STRING: return string();
    case dom::element_type::BOOL: return boolean();
    case dom::element_type::NULL_VALUE: return {};
    default: expected("a number, a bool, a string or null");
  }
}

std::string Json::dump() const {
  JsonWriter out;
  write(element_, out);
  return out.take();
}

std::string Json::string() const {
  std::string_view v;
  if (element_.get(v) != simdjson::SUCCESS) expected("a string");
  return std::string(v);
}

}  // namespace ingot
