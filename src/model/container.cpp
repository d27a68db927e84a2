#include "model/container.hpp"

#include <initializer_list>

namespace ingot::model {
namespace {

const ingot_program& program = ingot_the_program;

// May a full update leave the constant out? Its value then stays what it is.
bool may_be_left_out(const ingot_constant& c) { return c.kind == 3 || c.kind == 2 || (c.kind == 1 && c.bytes == 0); }

void warn_of_left_out(const ingot_constant& c) {
  log_line(INGOT_LOG_WARNING, "[WARNING] ",
           c.kind == 3 ? "Found constant %s in model, but not provided by user!"
                       : "Found constant or module state buffer or empty module state parameter %s in model, but not "
                         "provided by user!",
           c.name);
}

// Whether the update has the constant, under this name or another.
bool is_given(uint32_t k, const Array<AtenTensorHandle>& given) {
  if (given[k]) return true;
  for (uint32_t other = 0; other < stored_constant_count(); other++) {
    if (given[other] && are_alike(other, k)) return true;
  }
  return false;
}

class Inside {
 public:
  Inside(Gate& gate, bool alone) : gate_(gate), alone_(alone) { alone ? gate.enter_alone() : gate.enter(); }
  ~Inside() { alone_ ? gate_.leave_alone() : gate_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Gate& gate_;
  bool alone_;
};

}  // namespace

bool check_counts(size_t place, const AtenTensorHandle* inputs, size_t input_count, const AtenTensorHandle* outputs,
                  size_t output_count) {
  if (place >= program.entry_count) return fail("entry point %zu: there are %u", place, program.entry_count);
  const ingot_entry& entry = program.entries[place];
  if (input_count != entry.input_count)
    return fail("expected inputs vector size to be %u, but got %zu", entry.input_count, input_count);
  if (output_count != entry.output_count) {
    return fail("expected outputs vector size to be %u, but got %zu", entry.output_count, output_count);
  }
  if (!inputs && input_count) return fail("expected an array of input handles, found null");
  return outputs || !output_count || fail("expected an array of output handles, found null");
}

bool check_device(const char* device, int32_t* number) {
  if (!device) return fail("device: expected a name, found null");
  const size_t length = strcspn(device, ":");
  bool is_known = false;
  for (const char* name : {"cpu", "cuda", "xpu", "mps"}) is_known |= strlen(name) == length && memcmp(name, device, length) == 0;
  *number = 0;
  if (device[length] == ':') {
    const char* index = device + length + 1;
    is_known &= *index && strspn(index, "0123456789") == strlen(index);
    for (constexpr int32_t kMost = 1 << 20; *index >= '0' && *index <= '9'; index++)
      *number = *number < kMost ? 10 * *number + (*index - '0') : kMost;
  }
  if (!is_known) return fail("Invalid device: %s", device);
  const char* expected = Device{program.device}.name();
  return (strlen(expected) == length && memcmp(device, expected, length) == 0) ||
         fail("device: expected %s, which this library was compiled for, found %s", expected, device);
}

// I048: a model for the CPU has no other memory, and one for another device puts all constants
// there.
bool check_constants() {
  const int32_t own = program.device ? program.device->type : 0;
  for (uint32_t k = 0; k < stored_constant_count(); k++)
    if (program.constants[k].device != 0 && program.constants[k].device != own)
      return fail(
          "Mixed-device constants are only supported when the secondary device is CPU. Constant '%s' was compiled for a non-CPU device. "
          "Hint: move it to the CPU before the program is exported, or compile the program for the GPU.",
          program.constants[k].fqn);
  return true;
}

bool Container::make(size_t model_count, const char* device, LibraryWeights weights) {
  if (model_count == 0) return fail("num_models must be positive, but got 0");
  constexpr size_t kMostModels = 1 << 16;
  if (model_count > kMostModels) return fail("num_models must be at most %zu, but got %zu", kMostModels, model_count);
  int32_t index = 0;
  if (!check_device(device, &index) || !check_constants() || !engine_.make(index)) return false;
  uses_library_weights_ = weights == LibraryWeights::used;
  if (uses_library_weights_ && !weights_.open(program)) return false;
  if (!buffers_[0].make(engine_.device) || !buffers_[1].make(engine_.device) || !buffers_[0].load(weights_)) return false;
  buffers_[0].now_initialized();
  if (!models_.make(model_count) || !available_.make(model_count)) return false;
  for (size_t i = 0; i < model_count; i++) {
    models_[i] = create<Model>();
    if (!models_[i] || !models_[i]->make(engine_.device)) return false;
    available_[available_count_++] = models_[i];
  }
  return true;
}

Container::~Container() {
  for (size_t i = 0; i < models_.size(); i++) destroy(models_[i]);
}

// ---- forks

bool Container::is_idle() {
  return gate_.is_idle() && updates_.is_free() && written_.is_free() && pool_.is_free() && available_count_ == models_.size() &&
         engine_.threads.is_idle() && engine_.draws.is_idle();
}

bool Container::fail_after_fork() {
  return fail(
      "this process was forked while another thread used the model, and what it has of it was in the middle of that: load the "
      "model again here, or fork when no thread runs it");
}

// ---- runs

Model& Container::take_model() {
  Lock lock(pool_);
  while (available_count_ == 0) returned_.wait(pool_);
  return *available_[--available_count_];
}

void Container::give_back(Model& model) {
  Lock lock(pool_);
  available_[available_count_++] = &model;
  returned_.wake_one();
}

// With the gate passed together with others, and again afterwards: sees to it that the active
// buffer is folded. No model is held meanwhile: with one model, a run that waits for it would be
// inside the gate and keep us out. False: the gate has been left.
bool Container::fold_active_and_stay(void* stream) {
  while (buffer(false).state != ConstantState::FOLDED) {
    const ConstantState state = buffer(false).state;
    gate_.leave();
    if (state == ConstantState::NONE) return fail("Unknown constant state: ConstantState::%s", to_text(state));
    gate_.enter_alone();
    bool is_well = true;
    if (buffer(false).state == ConstantState::INITIALIZED) is_well = models_[0]->fold(engine_, buffer(false), weights_, stream);
    if (!is_well) {
      gate_.leave_alone();
      return false;
    }
    gate_.stay_with_others();
  }
  return true;
}

bool Container::run(size_t entry, const AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs,
                    size_t output_count, void* stream, const ingot_tensor_info* places) {
  if (!check_counts(entry, inputs, input_count, outputs, output_count)) return false;
  const NoGrad no_grad;
  gate_.enter();
  if (!fold_active_and_stay(stream)) return false;
  const bool uses_written = program.entries[entry].uses_written != 0;
  if (uses_written) written_.lock();
  Model& model = take_model();
  const bool is_well = (!uses_written || written_stream_.change(engine_.device, stream)) &&
                       model.run(engine_, entry, buffer(false), inputs, outputs, stream, places);
  give_back(model);
  if (uses_written) written_.unlock();
  gate_.leave();
  return is_well;
}

bool Container::run_single_threaded(const AtenTensorHandle* inputs, size_t input_count, AtenTensorHandle* outputs,
                                    size_t output_count, void* stream) {
  if (!check_counts(0, inputs, input_count, outputs, output_count)) return false;
  const NoGrad no_grad;
  ConstantBuffer& constants = buffer(false);
  if (constants.state != ConstantState::FOLDED && !models_[0]->fold(engine_, constants, weights_, stream)) return false;
  return models_[0]->run(engine_, 0, constants, inputs, outputs, stream);
}

// ---- constants

bool Container::update(const Array<AtenTensorHandle>& given, bool use_inactive, bool must_be_full, Give give) {
  const Inside inside(gate_, !use_inactive);
  const Lock lock(updates_);
  return apply(given, use_inactive, must_be_full, give);
}

bool Container::update_pairs(const AOTInductorConstantMapEntry* pairs, size_t count, bool use_inactive, bool must_be_full,
                             Give give) {
  if (!pairs && count) return fail("the array of constants is null");
  Array<AtenTensorHandle> given;
  if (!given.make(program.constant_count)) return false;
  for (size_t i = 0; i < count; i++) {
    if (!pairs[i].name) return fail("the name of constant %zu of the update is null", i);
    if (const int64_t k = find_constant(pairs[i].name); k >= 0) given[static_cast<size_t>(k)] = pairs[i].handle;
  }
  return update(given, use_inactive, must_be_full, give);
}

bool Container::apply(const Array<AtenTensorHandle>& given, bool use_inactive, bool must_be_full, Give give) {
  ConstantBuffer& target = buffer(use_inactive);
  ConstantBuffer& other = buffer(!use_inactive);
  const uint32_t stored = stored_constant_count();

  // First everything that can go wrong, so that a failed update has changed nothing.
  for (uint32_t k = 0; k < stored; k++) {
    const ingot_constant& c = program.constants[k];
    if (given[k]) {
      if (!target.check(k, given[k], give == Give::in_place)) return false;
      if (give == Give::storage && !target.check_storage(k, given[k])) return false;
    } else if (must_be_full && !is_given(k, given)) {
      if (!may_be_left_out(c)) return fail("Cannot find constants %s in constants_map!", c.name);
      warn_of_left_out(c);
    }
  }
  Array<AtenTensorHandle> handles;
  if (!handles.make(stored)) return false;
  for (uint32_t k = 0; k < stored && give == Give::in_place; k++) {
    if (!given[k] || host().new_tensor_handle(given[k], &handles[k]) == 0) continue;
    while (k-- > 0) {
      if (handles[k]) host().delete_tensor_object(handles[k]);
    }
    return INGOT_FAIL_FOR_HOST("aoti_torch_new_tensor_handle");
  }

  // An inactive set begins as the active one, also where it has been that itself since it was last
  // updated; what has a value from an update before this one keeps it.
  const bool begins = use_inactive && (target.state == ConstantState::NONE || was_active_);
  if (use_inactive) was_active_ = false;
  const auto take_from_other = [&](bool alone) {
    for (uint32_t k = 0; use_inactive && k < stored; k++) {
      if (is_given(k, given) || !other.has(k) || target.is_alone(k) != alone) continue;
      const bool is_exempt = may_be_left_out(program.constants[k]), follows = is_exempt && give != Give::elements;
      if (!begins && !follows && target.has(k)) continue;
      const Lock lock(written_);
      if (!(is_exempt ? target.copy_constant(k, other) : target.begin_as(k, other))) return false;
    }
    return true;
  };
  // A given one may lie in the storage of one that is left out, which comes first; others come
  // last, since what is given may be read from where they are.
  if (!take_from_other(false)) return false;
  for (uint32_t k = 0; k < stored; k++) {
    if (handles[k]) target.refer_to(k, handles[k]);
    else if (given[k] && !target.copy_tensor(k, given[k])) return false;
  }
  if (!take_from_other(true)) return false;
  target.now_initialized();
  return true;
}

bool Container::update_from_blob(const uint8_t* blob) {
  if (!blob) return fail("the blob of constants is null");
  if (!has_mapped_weights())
    return fail("constants can be read from a blob only where the weights are in a file of their own, or behind the library");
  const Inside inside(gate_, true);
  if (!buffer(false).load_blob(blob)) return false;
  buffer(false).now_initialized();
  return true;
}

// A tensor may be written by whoever is given it: what both sets have in one place, they have twice
// from then on. With the lock on updates.
bool Container::separate(uint32_t k) {
  return !buffer(true).is_in_place_of(k, buffer(false)) || buffer(true).copy_constant(k, buffer(false));
}

bool Container::extract(ConstantMap map, bool use_inactive) {
  const Inside inside(gate_, false);
  const Lock lock(updates_);
  ConstantBuffer& source = buffer(use_inactive);
  for (uint32_t k = 0; k < stored_constant_count(); k++) {
    if (!source.has(k)) continue;
    if (!separate(k)) return false;
    const AtenTensorHandle tensor = source.tensor(k);
    if (!tensor || !map.set(program.constants[k].fqn, tensor)) return false;
  }
  return true;
}

bool Container::extract_one(const char* name, bool use_inactive, AtenTensorHandle* result) {
  const Inside inside(gate_, false);
  const Lock lock(updates_);
  const int64_t k = find_constant(name);
  if (k < 0 || k >= stored_constant_count()) return fail("there is no constant '%s', or it is a folded one", name);
  ConstantBuffer& source = buffer(use_inactive);
  if (!source.has(static_cast<uint32_t>(k))) return fail("constant '%s' has no value in that buffer", name);
  *result = separate(static_cast<uint32_t>(k)) ? source.tensor(static_cast<uint32_t>(k)) : nullptr;
  return *result != nullptr;
}

bool Container::fold(bool use_inactive, void* stream) {
  const NoGrad no_grad;
  const Inside inside(gate_, !use_inactive);
  if (!use_inactive) return models_[0]->fold(engine_, buffer(false), weights_, stream);  // alone, so the model is free
  const Lock lock(updates_);
  Model& model = take_model();
  const bool is_well = model.fold(engine_, buffer(true), weights_, stream);
  give_back(model);
  return is_well;
}

bool Container::swap() {
  const Inside inside(gate_, true);
  const ConstantBuffer& next = buffer(true);
  constexpr const char* kRefusal =
      "the inactive constants cannot become the active ones, which stay in use: %s%s%s. Update the inactive ones first";
  if (next.state == ConstantState::NONE) return fail(kRefusal, "they have no values", "", "");
  if (const int64_t missing = next.first_missing(); missing >= 0)
    return fail(kRefusal, "constant '", program.constants[missing].name, "' has no value");
  active_ = 1 - active_;
  was_active_ = true;
  return true;
}

bool Container::memory(int32_t kind, uint64_t* bytes) {
  if (!bytes) return fail("the address for the answer is null");
  if (kind < INGOT_MEMORY_CONSTANTS || kind > INGOT_MEMORY_SHARED)
    return fail("kind of memory: expected one of ingot_memory_kind, found %d", kind);
  const Inside inside(gate_, false);
  const Lock lock(updates_);
  *bytes = 0;
  for (const ConstantBuffer& b : buffers_) {
    const Folded* folded = b.folded();
    if (kind == INGOT_MEMORY_CONSTANTS) *bytes += b.own_bytes();
    else if (folded && (kind == INGOT_MEMORY_FOLDED || folded->has_other_users())) *bytes += folded->bytes();
  }
  return true;
}

bool Container::free_inactive() {
  const Inside inside(gate_, false);
  const Lock lock(updates_);
  buffer(true).clear();
  return true;
}

}  // namespace ingot::model
