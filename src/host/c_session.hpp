// A session of ingot/ingot.h, which the functions of that header are about.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/loaded_model.hpp"
#include "host/session.hpp"

// It keeps the model that it is of, and the names that it hands out.
struct ingot_session {
  // User error where the library has no such entry point, or does not say what its inputs are
  // called.
  ingot_session(std::shared_ptr<ingot::LoadedModel> loaded, std::string_view entry);
  const ingot::ModelLibrary& library() const { return model->library(); }

  std::shared_ptr<ingot::LoadedModel> model;
  ingot::EntrySession session;
  std::vector<std::string> input_names, output_names;
};

namespace ingot {

// User error for null.
const ingot_session& checked(const ingot_session* s);
inline LoadedModel& model_of(const ingot_session* s) { return *checked(s).model; }
inline ModelContainer& container_of(const ingot_session* s) { return model_of(s).container(); }
// User error unless there is an array of as many inputs as the model takes.
void require_inputs(const ingot_session& s, const DLTensor* const* inputs, std::size_t count);
// "input 0 (x)", for messages.
std::string input_text(const ingot_session& s, std::size_t k);
ingot_tensor_info describe(const ModelContainer& container, AtenTensorHandle tensor);

}  // namespace ingot
