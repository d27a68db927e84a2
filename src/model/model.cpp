#include "model/model.hpp"

#include "model/cpu.hpp"
#include "model/host.hpp"
#include "model/host_op.hpp"
#include "model/layout.hpp"

namespace ingot::model {
namespace {

const ingot_program& program = ingot_the_program;

// What a tensor without elements has for an address: generated code takes null for a failure.
alignas(kAlignment) char nothing[kAlignment];

ingot_view view_of(const ingot_tensor_info& t) {
  return {.data = t.data, .sizes = t.sizes, .strides = t.strides, .rank = t.rank, .dtype = t.dtype};
}

}  // namespace

bool Engine::make(int32_t device_index) {
  if (program.version != INGOT_PROGRAM_VERSION) {
    return fail("the program in this library has version %u, its runtime is of version %d", program.version,
                INGOT_PROGRAM_VERSION);
  }
  device = {program.device, program.device ? device_index : 0};
  const char* checks = getenv("AOTI_RUNTIME_CHECK_INPUTS");
  checks_inputs.store(!checks || strcmp(checks, "0") != 0, std::memory_order_relaxed);
  const int64_t chosen = choose_level(program);
  level = static_cast<size_t>(chosen);
  return chosen >= 0 && threads.take_environment() && check_host_ops();
}

bool EntryMemory::make(const ingot_entry& entry, const Device& device) {
  return inputs.make(entry, device) && symbols.make(entry.symbol_count) && outputs.make(entry.output_count);
}

bool Model::make(const Device& device) {
  arena_.be_on(device);
  if (!entries_.make(program.entry_count)) return false;
  for (uint32_t e = 0; e < program.entry_count; e++) {
    entries_[e] = create<EntryMemory>();
    if (!entries_[e] || !entries_[e]->make(program.entries[e], device)) return false;
  }
  return true;
}

Model::~Model() {
  for (size_t e = 0; e < entries_.size(); e++) destroy(entries_[e]);
}

bool Model::run(Engine& engine, size_t place, const ConstantBuffer& constants, const AtenTensorHandle* inputs,
                AtenTensorHandle* outputs, void* stream, const ingot_tensor_info* places) {
  const ingot_entry& entry = program.entries[place];
  const ingot_code& code = entry.codes[engine.level];
  EntryMemory& memory = *entries_[place];
  for (uint32_t k = 0; k < entry.output_count; k++) outputs[k] = nullptr;
  if (!stream_.change(engine.device, stream)) return false;
  Run run(engine, *this, place, constants, stream);
  run.places = places;
  const bool checks = engine.checks_inputs.load(std::memory_order_relaxed);
  if (!memory.inputs.bind(inputs, memory.symbols.data(), checks) || !memory.inputs.lay_out(run)) return false;
  run.inputs = memory.inputs.elements();
  if (!run.call(code.run, code.arena_bytes(memory.symbols.data()))) return false;
  for (uint32_t k = 0; k < entry.output_count; k++) {
    if (!memory.outputs[k]) return fail("the program did not make output %u (%s)", k, entry.outputs[k].name);
  }

  memory.inputs.write_back();
  for (uint32_t k = 0; k < entry.output_count; k++) {
    outputs[k] = memory.outputs[k];
    memory.outputs[k] = nullptr;
  }
  return true;
}

bool Model::fold(Engine& engine, ConstantBuffer& constants, const Weights& weights, void* stream) {
  if (constants.state == ConstantState::NONE) return fail("Unknown constant state: ConstantState::%s", to_text(constants.state));
  if (const int64_t missing = constants.first_missing(); missing >= 0) {
    const char* name = program.constants[missing].name;
    if (*weights.missing_file()) {
      return fail(
          "Constants are not mmap'd. Use AOTInductorModelUpdateConstantsBlob to initialize the constants first. (Constant '%s' "
          "has no value: there is no weights file '%s')",
          name, weights.missing_file());
    }
    return fail("constant '%s' has no value: %s", name,
                program.weights == INGOT_WEIGHTS_NONE ? "the library was compiled without weights; update its constants first"
                                                      : "the update of this buffer left it out");
  }
  // What somebody has a tensor over may be other numbers than when others folded it.
  const bool is_shared = constants.is_as_loaded() && !weights.is_lent() && engine.device.is_cpu();
  Folded* folded = is_shared ? Folded::share({weights.version(), engine.level}) : Folded::make(engine.device);
  if (!folded) return false;
  if (!folded->is_made()) {
    making_ = folded;
    // Runs on other streams may use them from now on.
    const bool is_well =
        stream_.change(engine.device, stream) && fold_all(engine, constants, stream) && engine.device.synchronize(stream);
    making_ = nullptr;
    folded->end_making(is_well);
    if (!is_well) {
      folded->release();
      return false;
    }
    // Most of what was read now is in another order, and is not read again.
    if (program.folded_count > 0) weights.forget_read();
  }
  constants.take_folded(folded);
  return true;
}

bool Model::fold_all(Engine& engine, const ConstantBuffer& constants, void* stream) {
  for (uint32_t e = 0; e < program.entry_count; e++) {
    const ingot_code& code = program.entries[e].codes[engine.level];
    if (!code.fold) continue;
    Run run(engine, *this, e, constants, stream);
    run.folds = true;
    if (!run.call(code.fold, code.fold_arena_bytes)) return false;
  }
  for (uint32_t k = 0; k < program.folded_count; k++) {
    if (!making_->elements()[k]) return fail("the program did not make folded constant %u", k);
  }
  return true;
}

// ---- a run

// On the CPU the memory follows it.
struct alignas(kAlignment) Run::Allocation {
  Allocation* next;
  void* on_device;
};

Run::Run(Engine& e, Model& m, size_t place, const ConstantBuffer& buffer, void* on_stream)
    : ingot_frame{}, engine(e), model(m), entry(program.entries[place]), memory(*m.entries_[place]), threads(e.threads) {
  symbols = memory.symbols.data();
  constants = buffer.elements();
  stream = on_stream;
  device = e.device.table;
  device_index = e.device.index;
}

Run::~Run() {
  while (allocations_) {
    Allocation* next = allocations_->next;
    if (allocations_->on_device) engine.device.release(allocations_->on_device, stream);
    free(allocations_);
    allocations_ = next;
  }
  for (uint32_t k = 0; k < entry.output_count; k++) {
    if (memory.outputs[k]) host().delete_tensor_object(memory.outputs[k]);
    memory.outputs[k] = nullptr;
  }
}

bool Run::call(int32_t (*function)(ingot_frame*), int64_t arena_bytes) {
  arena = model.arena_.at_least(static_cast<uint64_t>(arena_bytes), stream);
  if (!arena) return false;
  if (function(this) == 0) return !has_failed;
  return has_failed ? false : fail("the program failed and did not say why");
}

void* Run::allocate_until_end(uint64_t bytes) {
  if (bytes > PTRDIFF_MAX - 2 * kAlignment) return fail_for_memory(bytes), nullptr;
  const bool on_cpu = engine.device.is_cpu();
  auto* allocation = static_cast<Allocation*>(allocate(sizeof(Allocation) + (on_cpu ? bytes : 0)));
  if (!allocation) return nullptr;
  *allocation = {allocations_, nullptr};
  allocations_ = allocation;
  if (on_cpu) return allocation + 1;
  return allocation->on_device = engine.device.allocate(bytes, stream);
}

// The tensor of output k over the caller's memory; null where that does not suit.
AtenTensorHandle Run::output_in_place(int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides) const {
  const ingot_tensor_info& place = places[k];
  const int32_t dtype = entry.outputs[k].dtype;
  if (!place.data || !engine.device.is_cpu() || reinterpret_cast<uintptr_t>(place.data) % kAlignment != 0) return nullptr;
  if (place.dtype != dtype || place.rank != rank || element_count(rank, sizes) == 0) return nullptr;
  if (rank > 0 && memcmp(place.sizes, sizes, static_cast<size_t>(rank) * sizeof *sizes) != 0) return nullptr;
  if (!same_places(rank, sizes, strides, place.strides)) return nullptr;
  // What overlaps it would be overwritten before it is read, or the other way round.
  if (memory.inputs.overlap_with(view_of(place))) return nullptr;
  for (uint32_t other = 0; other < entry.output_count; other++) {
    const ingot_tensor_info& next = places[other];
    if (other == static_cast<uint32_t>(k) || !next.data) continue;
    if (overlap(view_of(place), element_size(dtype), view_of(next), element_size(next.dtype))) return nullptr;
  }
  const Host& h = host();
  AtenTensorHandle tensor = nullptr;
  const AOTITorchError error = h.create_tensor_from_blob(place.data, rank, sizes, strides, 0, h.dtypes[dtype], h.cpu, 0, &tensor);
  return error == 0 ? tensor : nullptr;
}

void* Run::new_output(int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides) {
  const Host& h = host();
  if (k < 0 || static_cast<uint32_t>(k) >= entry.output_count || memory.outputs[k]) {
    fail("the program made output %d, which it has not or has made already", k);
    return nullptr;
  }
  const ingot_output& output = entry.outputs[k];
  AtenTensorHandle tensor = places ? output_in_place(k, rank, sizes, strides) : nullptr;
  void* data = nullptr;
  if (tensor) {
    memory.outputs[k] = tensor;
    return places[k].data;
  }
  if (h.empty_strided(rank, sizes, strides, h.dtypes[output.dtype], engine.device.host_code(), engine.device.index, &tensor) !=
      0) {
    if (!h.is_own) INGOT_FAIL_FOR_HOST("aoti_torch_empty_strided");  // ours has said why
    return nullptr;
  }
  memory.outputs[k] = tensor;
  if (h.get_data_ptr(tensor, &data) != 0) {
    INGOT_FAIL_FOR_HOST("aoti_torch_get_data_ptr");
    return nullptr;
  }
  if (element_count(rank, sizes) == 0) return nothing;
  if (reinterpret_cast<uintptr_t>(data) % kAlignment != 0) {
    fail("output %d (%s): expected memory at a multiple of %zu bytes from the host, found %p", k, output.name, kAlignment, data);
    return nullptr;
  }
  return data;
}

void* Run::new_folded(int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides) {
  const uint32_t place = entry.first_folded + static_cast<uint32_t>(k);
  if (k < 0 || static_cast<uint32_t>(k) >= entry.folded_count || model.making_->elements()[place]) {
    fail("the program made folded constant %d, which it has not or has made already", k);
    return nullptr;
  }
  const ingot_constant& constant = program.constants[stored_constant_count() + place];
  const auto bytes = static_cast<uint64_t>(extent(rank, sizes, strides) * element_size(constant.dtype));
  return model.making_->allocate(place, bytes, stream);
}

}  // namespace ingot::model

// ---- what generated code calls

using ingot::model::Run;

void* ingot_rt_output(ingot_frame* frame, int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides) {
  Run& run = *static_cast<Run*>(frame);
  void* data = run.folds ? run.new_folded(k, rank, sizes, strides) : run.new_output(k, rank, sizes, strides);
  if (!data) run.has_failed = true;
  return data;
}

void* ingot_rt_alloc(ingot_frame* frame, int64_t bytes) {
  Run& run = *static_cast<Run*>(frame);
  void* data = run.allocate_until_end(static_cast<uint64_t>(bytes));
  if (!data) run.has_failed = true;
  return data;
}

void ingot_rt_parallel(ingot_frame* frame, ingot_kernel* kernel, void* const* buffers, int64_t tasks, int64_t grain,
                       int64_t scratch_bytes) {
  Run& run = *static_cast<Run*>(frame);
  if (run.has_failed) return;
  const uint64_t bytes = ingot::model::round_up(static_cast<uint64_t>(scratch_bytes), ingot::model::kAlignment);
  if (!run.threads.run(kernel, buffers, run.symbols, run.scratch(), bytes, tasks, grain)) run.has_failed = true;
}

int32_t ingot_rt_fail(ingot_frame* frame, const char* text) {
  static_cast<Run*>(frame)->has_failed = true;
  ingot::model::fail("%s", text);
  return 1;
}

void ingot_rt_random(ingot_frame* frame, uint64_t* seed, uint64_t* offset) {
  static_cast<Run*>(frame)->engine.draws.next(seed, offset);
}
void ingot_rt_random_state(ingot_frame* frame, uint64_t* seed, uint64_t* offset) {
  static_cast<Run*>(frame)->engine.draws.get(seed, offset);
}
void ingot_rt_set_random_state(ingot_frame* frame, uint64_t seed, uint64_t offset) {
  static_cast<Run*>(frame)->engine.draws.set(seed, offset);
}
