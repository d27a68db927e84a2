// What is being compiled on this thread, under which names (section 15).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::aot {

// R002: every entry point takes the next number of one counter, when it is called.
int take_id();
void number_from(int next);  // the counter goes on from here

struct CompileContext {
  std::vector<std::string> names;  // of the graphs that are being compiled: {"0_forward"}; empty outside of compilation
  std::string model = "model";
  int number = 0;                  // how many contexts this thread has left

  std::string graph_name() const;  // "model__0_forward_1"
};
const CompileContext& compile_context();
void set_model_name(std::string name);

enum class GraphKind : uint8_t { joint, forward, backward, inference };
std::string_view to_text(GraphKind kind);

// In the scope the thread compiles graph `kind` of entry `id` (R194).
class CompileScope {
 public:
  CompileScope(int id, GraphKind kind);
  ~CompileScope();
  CompileScope(const CompileScope&) = delete;
  CompileScope& operator=(const CompileScope&) = delete;

 private:
  std::vector<std::string> outer_;
};

}  // namespace ingot::aot
