#include "aot/log.hpp"

#include "aot/metadata_record.hpp"
#include "base/error.hpp"
#include "graph/text.hpp"

namespace ingot::aot {

Log::Log(int id, const AotOptions& options) : id_(id), on_(options.enable_log && is_logged("aot")), told_(options.log) {}

void Log::graph(GraphKind kind, const Graph& g) const {
  if (on_) write(text(to_text(kind), " graph"), print(g, GraphForm::full));
}
void Log::metadata(const Metadata& m) const {
  if (on_) write("metadata", to_text(m));
}
void Log::note(const std::string& message) const {
  if (told_) told_(message);
  else if (on_) write(message, "");
}

void Log::write(const std::string& title, const std::string& body) const {
  std::string all = text("[aot ", id_, "] ", title, body.empty() ? "" : ":\n", body);
  if (body.ends_with('\n')) all.pop_back();
  say(INGOT_LOG_INFO, all.c_str());
}

}  // namespace ingot::aot
