// What the layer made, for people: on stderr, if the environment has INGOT_LOG=aot (R196).
#pragma once
#include "aot/aot.hpp"
#include "aot/context.hpp"
#include "aot/metadata.hpp"
#include "base/log.hpp"

namespace ingot::aot {

class Log {
 public:
  Log(int id, const AotOptions& options);

  void graph(GraphKind kind, const Graph& g) const;  // with sizes, strides and devices
  void metadata(const Metadata& m) const;
  void note(const std::string& message) const;

 private:
  int id_;
  bool on_;
  std::function<void(const std::string&)> told_;
  void write(const std::string& title, const std::string& body) const;
};

}  // namespace ingot::aot
