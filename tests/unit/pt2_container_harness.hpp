// Archives put together from text, as files that are loaded or refused, for tests of the container.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "format/pt2/load.hpp"
#include "format/pt2/state.hpp"
#include "ingot/ingot.hpp"
#include "unit/pt2_container_fixture.hpp"

namespace ingot {

// The container as a program sees it: a file loaded, its error, its state.
class Container : public IoTest {
 protected:
  using V = std::vector<float>;
  std::string file(const std::string& bytes) { return put("p.pt2", bytes); }
  Program load(const Pt2Entries& e, const std::string& model = {}) { return load_pt2(file(e.bytes()), model); }
  std::string error(const Pt2Entries& e, const std::string& model = {}) { return error_of(e.bytes(), model); }
  std::string error_of(const std::string& bytes, const std::string& model = {}) {
    const std::string p = file(bytes);
    const std::string message = user_error([&] { (void)load_pt2(p, model); });
    EXPECT_NE(message.find(p), message.npos) << message;
    return message;
  }
  static void expect_says(const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), message.npos) << message;
  }
  // The state of an archive with these weights and payloads.
  std::map<std::string, StateEntry> state(const std::vector<Payload>& weights, const std::map<std::string, std::string>& payloads,
                                          const std::vector<Payload>& constants = {}) {
    return load(with(weights, payloads, constants)).state;
  }
  static Pt2Entries with(const std::vector<Payload>& weights, const std::map<std::string, std::string>& payloads,
                         const std::vector<Payload>& constants = {}) {
    Pt2Entries e = Pt2Entries::plain({}, weights, constants);
    for (const auto& [name, bytes] : payloads) e.set("data/" + name, bytes);
    return e;
  }
  static std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }
  const std::string w0 = "weights/weight_0";
};

}  // namespace ingot
