#include "model/inputs.hpp"

#include <stdio.h>

#include "model/host.hpp"
#include "model/layout.hpp"
#include "model/model.hpp"

namespace ingot::model {
namespace {

bool is_number_text(const char* text) { return *text >= '0' && *text <= '9' && strspn(text, "0123456789") == strlen(text); }

bool is_part_of_a_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Is the symbol named in the condition?
bool is_in(const char* condition, const char* symbol) {
  const size_t length = strlen(symbol);
  for (const char* at = strstr(condition, symbol); at; at = strstr(at + 1, symbol)) {
    if ((at == condition || !is_part_of_a_name(at[-1])) && !is_part_of_a_name(at[length])) return true;
  }
  return false;
}

}  // namespace

// "input 0 (x)"
struct Inputs::Name {
  char text[256];
};
Inputs::Name Inputs::name_of(uint32_t k) const {
  Name name;
  snprintf(name.text, sizeof name.text, "input %u (%s)", k, entry_->inputs[k].name);
  return name;
}

bool Inputs::make(const ingot_entry& entry, const Device& device) {
  entry_ = &entry;
  device_ = device;
  size_t numbers = 0;
  for (uint32_t k = 0; k < entry_->input_count; k++) numbers += 2 * static_cast<size_t>(entry_->inputs[k].rank);
  return views_.make(entry_->input_count) && elements_.make(entry_->input_count) && expected_.make(numbers) &&
         numbers_.make(entry_->input_count);
}

bool Inputs::bind(const AtenTensorHandle* tensors, int64_t* symbols, bool checks) {
  for (uint32_t k = 0; k < entry_->input_count; k++) {
    if (!check_tensor(k, tensors[k])) return false;
  }
  return decide(symbols, checks) && (!checks || check_written());
}

bool Inputs::bind_sizes(const ingot_tensor_info* tensors, int64_t* symbols) {
  for (uint32_t k = 0; k < entry_->input_count; k++) {
    const ingot_tensor_info& t = tensors[k];
    views_[k] = {t.data, t.sizes, t.strides, t.rank, t.dtype};
    if (!check_kind(k)) return false;
    if (t.rank && !t.sizes) return fail("%s: expected sizes, found null", name_of(k).text);
    if (entry_->inputs[k].is_number && !t.data) return fail("%s: expected a number, found none", name_of(k).text);
  }
  return decide(symbols, true);
}

// All that hangs on sizes and numbers.
bool Inputs::decide(int64_t* symbols, bool checks) {
  for (uint32_t k = 0; k < entry_->input_count; k++) {
    if (!entry_->inputs[k].is_number) continue;
    // `bind` reads it as it is, and a user's number may lie anywhere.
    memcpy(numbers_[k].bytes, views_[k].data, static_cast<size_t>(element_size(views_[k].dtype)));
    views_[k].data = numbers_[k].bytes;
  }
  entry_->bind(views_.data(), symbols);
  if (checks && !check_ranges(symbols)) return false;
  entry_->expect(symbols, expected_.data());
  return !checks || (check_sizes() && check_guards(symbols));
}

bool Inputs::check_tensor(uint32_t k, AtenTensorHandle tensor) {
  const ingot_input& input = entry_->inputs[k];
  const Name name = name_of(k);
  ingot_view& view = views_[k];
  int32_t device;
  if (!view_tensor(tensor, name.text, &view, &device)) return false;
  // Numbers are read here, whatever the device is.
  if (device != (input.is_number ? host().cpu : device_.host_code())) {
    return fail("%s: device: expected %s, found a tensor on the host's device type %d", name.text,
                input.is_number ? "cpu" : device_.name(), device);
  }
  if (!check_kind(k)) return false;
  if (!view.data && element_count(view.rank, view.sizes) != 0)
    return fail("%s: expected elements, found none behind the tensor", name.text);
  return true;
}

bool Inputs::check_kind(uint32_t k) const {
  const ingot_input& input = entry_->inputs[k];
  const ingot_view& view = views_[k];
  if (view.dtype != input.dtype)
    return fail("%s: dtype: expected %s, found %s", name_of(k).text, dtype_name(input.dtype), dtype_name(view.dtype));
  if (view.rank == input.rank) return true;
  return fail("%s: number of dims: expected %d, found %d", name_of(k).text, input.rank, view.rank);
}

bool Inputs::check_ranges(const int64_t* symbols) const {
  for (uint32_t s = 0; s < entry_->input_symbol_count; s++) {
    if (symbols[s] < entry_->symbols[s].min || symbols[s] > entry_->symbols[s].max) return fail_for_symbol(s, symbols[s]);
  }
  return true;
}

bool Inputs::fail_for_symbol(uint32_t s, int64_t found) const {
  const ingot_symbol& symbol = entry_->symbols[s];
  Text text;
  // Where the user gave it: a dim that is the symbol itself, else a number.
  bool is_placed = false;
  for (uint32_t k = 0; k < entry_->input_count && !is_placed; k++) {
    for (int32_t d = 0; d < entry_->inputs[k].rank && !is_placed; d++) {
      is_placed = strcmp(entry_->inputs[k].sizes[d], symbol.name) == 0;
      if (is_placed) text.add("%s: dim %d (%s): ", name_of(k).text, d, symbol.name);
    }
  }
  if (!is_placed) text.add("%s: ", symbol.name);

  constexpr int64_t kEndless = int64_t{1} << 62;
  const auto min = static_cast<long long>(symbol.min), max = static_cast<long long>(symbol.max);
  if (min == max) text.add("expected %lld", min);
  else if (max >= kEndless) text.add("expected at least %lld", min);
  else if (min <= -kEndless) text.add("expected at most %lld", max);
  else text.add("expected %lld to %lld", min, max);
  return fail("%s, found %lld", text.c_str(), static_cast<long long>(found));
}

bool Inputs::check_sizes() const {
  const int64_t* expected = expected_.data();
  for (uint32_t k = 0; k < entry_->input_count; k++) {
    const ingot_input& input = entry_->inputs[k];
    for (int32_t d = 0; d < input.rank; d++) {
      if (views_[k].sizes[d] == expected[d]) continue;
      const auto wanted = static_cast<long long>(expected[d]), found = static_cast<long long>(views_[k].sizes[d]);
      const Name name = name_of(k);
      if (is_number_text(input.sizes[d]))
        return fail("%s: size of dim %d: expected %lld, found %lld", name.text, d, wanted, found);
      return fail("%s: size of dim %d: expected %lld (%s), found %lld", name.text, d, wanted, input.sizes[d], found);
    }
    expected += 2 * input.rank;
  }
  return true;
}

bool Inputs::check_guards(const int64_t* symbols) const {
  const int32_t broken = entry_->check(symbols);
  if (broken < 0) return true;
  const ingot_guard& guard = entry_->guards[broken];
  if (guard.message) return fail("%s", guard.message);
  Text text;
  text.add("sizes of the inputs: expected %s", guard.condition);
  if (guard.reason && *guard.reason) text.add(" (%s)", guard.reason);
  text.add(", found");
  bool any = false;
  for (uint32_t s = 0; s < entry_->input_symbol_count; s++) {
    if (!is_in(guard.condition, entry_->symbols[s].name)) continue;
    text.add("%s %s = %lld", any ? "," : "", entry_->symbols[s].name, static_cast<long long>(symbols[s]));
    any = true;
  }
  return fail("%s", text.c_str());
}

// A program with writes is compiled for inputs that lie apart: where they do not, what it reads
// after a write would be anybody's guess.
bool Inputs::check_written() const {
  for (uint32_t k = 0; k < entry_->input_count; k++) {
    if (!entry_->inputs[k].is_written) continue;
    const ingot_view& written = views_[k];
    if (overlaps_itself(written)) {
      return fail(
          "%s: unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
          "clone() the tensor before performing the operation.",
          name_of(k).text);
    }
    for (uint32_t other = 0; other < entry_->input_count; other++) {
      const bool is_seen = entry_->inputs[other].is_written && other < k;
      if (other == k || is_seen || entry_->inputs[other].is_number) continue;
      const ingot_view& view = views_[other];
      if (!overlap(written, element_size(written.dtype), view, element_size(view.dtype))) continue;
      return fail(
          "%s: expected memory apart from all other inputs, since the run writes it, found that it overlaps %s; copy one of them",
          name_of(k).text, name_of(other).text);
    }
  }
  return true;
}

// Several elements cannot be put in one place; and what another device has cannot be put elsewhere.
bool Inputs::fail_for_strides(uint32_t k, const int64_t* expected, const char* hint) const {
  const ingot_view& view = views_[k];
  Text text;
  const auto add = [&](const int64_t* strides) {
    for (int32_t d = 0; d < view.rank; d++) text.add("%s%lld", d == 0 ? "[" : ", ", static_cast<long long>(strides[d]));
  };
  text.add("%s: strides: expected ", name_of(k).text);
  add(expected);
  text.add("], found ");
  add(view.strides);
  return fail("%s]; %s", text.c_str(), hint);
}

bool Inputs::lay_out(Run& run) {
  const int64_t* sizes = expected_.data();
  for (uint32_t k = 0; k < entry_->input_count; k++) {
    const ingot_view& view = views_[k];
    const int64_t* strides = sizes + view.rank;
    const int64_t size = element_size(view.dtype);
    elements_[k] = view.data;
    const bool is_aligned = reinterpret_cast<uintptr_t>(view.data) % static_cast<uint64_t>(size) == 0;
    const bool lies_so = same_places(view.rank, sizes, view.strides, strides);
    if (!lies_so && entry_->inputs[k].by_places)
      return fail_for_strides(k, strides,
                              "the program takes views of it by places of its storage (as_strided): compile it for these");
    if (!is_aligned || !lies_so) {
      if (!device_.is_cpu()) return fail_for_strides(k, strides, "copy it so that it lies like this");
      if (!lies_apart({.data = nullptr, .sizes = sizes, .strides = strides, .rank = view.rank, .dtype = view.dtype}))
        return fail_for_strides(k, strides,
                                "lying so, elements share their places at these sizes, and no copy can be made: "
                                "compile the program for a contiguous example");
      elements_[k] = run.allocate_until_end(static_cast<uint64_t>(extent(view.rank, sizes, strides) * size));
      if (!elements_[k]) return false;
      copy_elements(view.rank, sizes, elements_[k], strides, view.data, view.strides, size);
    }
    sizes += 2 * view.rank;
  }
  return true;
}

bool Inputs::overlap_with(const ingot_view& view) const {
  for (uint32_t k = 0; k < entry_->input_count; k++)
    if (overlap(views_[k], element_size(views_[k].dtype), view, element_size(view.dtype))) return true;
  return false;
}

void Inputs::write_back() {
  const int64_t* sizes = expected_.data();
  for (uint32_t k = 0; k < entry_->input_count; k++) {
    const ingot_view& view = views_[k];
    if (entry_->inputs[k].is_written && elements_[k] != view.data) {
      copy_elements(view.rank, sizes, view.data, view.strides, elements_[k], sizes + view.rank, element_size(view.dtype));
    }
    sizes += 2 * view.rank;
  }
}

}  // namespace ingot::model
