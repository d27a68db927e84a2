// A JSON value that knows where it stands in its document, so that every complaint can say so. Made
// for the structs and unions of exported programs (sections 4 to 8 of the format's description).
// Parsed by simdjson, whose header json.cpp alone reads: it takes a compiler longer than most
// sources here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
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

  // ---- an object. `field`: user error if it is not there; `optional`: absent and null are the
  // same.
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
  bool is_null() const;
  bool is_string() const;
  bool is_bool() const;
  bool is_integer() const;
  bool is_object() const;
  bool is_list() const;
  // The value as JSON text.
  std::string dump() const;

  // Each element of a list through f, one at a time: a file has room for many more elements than a
  // machine for as many values that know where they stand.
  void for_each(const std::function<void(const Json&)>& f) const;
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
  struct Parsed;  // a value of a parsed document, where json.cpp looks into it
  struct Element {  // one where it is only carried: the same bytes
    alignas(void*) std::byte bytes[2 * sizeof(void*)];
  };
  struct Step {
    std::shared_ptr<const Step> up;
    std::string_view key;  // of an object's field; the root: the document's name
    int64_t index = -1;
  };
  Json(Element e, std::shared_ptr<const Step> at) : element_(e), at_(std::move(at)) {}
  std::optional<Json> find(std::string_view name) const;
  std::string_view document() const;
  [[noreturn]] void expected(std::string_view kind) const;
  Element element_;
  std::shared_ptr<const Step> at_;
  std::string_view struct_ = "object";  // of static storage
};

// A parsed document: owns what its Json values refer to, so it stays where it is.
class JsonDocument {
 public:
  // `what` starts every message. User error for text that is no JSON, nests deeper than 1000, or
  // has an object with two fields of one name.
  JsonDocument(std::string text, std::string what);  // gives the text back before it returns
  JsonDocument(std::string_view text, std::string what) : JsonDocument(std::string(text), std::move(what)) {}
  JsonDocument(const char* text, std::string what) : JsonDocument(std::string(text), std::move(what)) {}
  JsonDocument(JsonDocument&&) = delete;
  ~JsonDocument();
  Json root() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  Json::Element root_;
  std::string what_;
};

}  // namespace ingot
