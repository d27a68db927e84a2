// A JSON value that knows where it stands in its document, so that every complaint can say so. Made for the structs and
// unions of exported programs (sections 4 to 8 of the format's description).
#pragma once
#include <simdjson.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

class Json {
 public:
  // The key and value of a union: {"as_int": 3}.
  using Tagged = std::pair<std::string_view, Json>;

  // The same value, known to be a struct of the format: messages about its fields say so.
  Json of(std::string_view struct_name) const {
    Json j = *this;
    j.struct_ = struct_name;
    return j;
  }

  // ---- an object. `field`: user error if it is not there; `optional`: absent and null are the same.
  Json field(std::string_view name) const;
  std::optional<Json> optional(std::string_view name) const;
  std::vector<Tagged> fields() const;
  Tagged tagged() const;  // its one field; user error for none or several

  // ---- anything else. User error naming the place for a value of another kind.
  std::vector<Json> list() const;
  std::size_t size() const;  // of a list
  int64_t integer() const;
  double real() const;  // a number, or the strings "Infinity", "-Infinity", "NaN"
  bool boolean() const;
  std::string string() const;
  bool is_null() const { return element_.is_null(); }
  bool is_string() const { return element_.is_string(); }
  bool is_bool() const { return element_.is_bool(); }
  bool is_integer() const { return element_.is_int64() || element_.is_uint64(); }
  bool is_object() const { return element_.is_object(); }
  bool is_list() const { return element_.is_array(); }
  // The value as JSON text.
  std::string dump() const;

  // Each element of a list through f, one at a time: a file has room for many more elements than a machine for as many
  // values that know where they stand.
  template <class F>
  void for_each(F&& f) const {
    int64_t i = 0;
    for (const simdjson::dom::element e : array()) f(child(e, {}, i++));
  }
  template <class F>
  auto map(F&& f) const {
    std::vector<decltype(f(std::declval<const Json&>()))> out;
    for_each([&](const Json& e) { out.push_back(f(e)); });
    return out;
  }

  // User error: the parts, and where this value stands.
  [[noreturn]] void fail(const std::string& message) const;
  std::string path() const;      // "model.json: graph_module.graph.nodes[3]"
  std::string position() const;  // the same without the document: "graph_module.graph.nodes[3]"

 private:
  friend class JsonDocument;
  struct Step {
    std::shared_ptr<const Step> up;
    std::string_view key;  // of an object's field; the root: the document's name
    int64_t index = -1;
  };
  Json(simdjson::dom::element e, std::shared_ptr<const Step> at) : element_(e), at_(std::move(at)) {}
  // The key is one of the document's.
  Json child(simdjson::dom::element e, std::string_view key, int64_t index = -1) const;
  std::optional<Json> find(std::string_view name) const;
  simdjson::dom::object object() const;
  simdjson::dom::array array() const;
  std::string_view document() const;
  [[noreturn]] void expected(std::string_view kind) const;
  simdjson::dom::element element_;
  std::shared_ptr<const Step> at_;
  std::string_view struct_ = "object";  // of static storage
};

// A parsed document: owns what its Json values refer to, so it stays where it is.
class JsonDocument {
 public:
  // `what` starts every message. User error for text that is no JSON, nests deeper than 1000, or has an object with two
  // fields of one name.
  JsonDocument(std::string text, std::string what);  // gives the text back before it returns
  JsonDocument(std::string_view text, std::string what) : JsonDocument(std::string(text), std::move(what)) {}
  JsonDocument(const char* text, std::string what) : JsonDocument(std::string(text), std::move(what)) {}
  JsonDocument(JsonDocument&&) = delete;
  Json root() const;

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
  std::string what_;
};

}  // namespace ingot
