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

struct ThreadsAtHand {
  Threads& threads;
  explicit ThreadsAtHand(Threads& t) : threads(t) { threads.begin_run(); }
  ~ThreadsAtHand() { threads.end_run(); }
};

}  // namespace

bool Engine::make() {
  if (program.version != INGOT_PROGRAM_VERSION) {
    return fail("the program in this library has version %u, its runtime is of version %d", program.version,
                INGOT_PROGRAM_VERSION);
  }
  const char* checks = getenv("AOTI_RUNTIME_CHECK_INPUTS");
  checks_inputs.store(!checks || strcmp(checks, "0") != 0, std::memory_order_relaxed);
  code = choose_code(program);
  return code != nullptr && check_host_ops();
}

bool Model::make() {
  return inputs_.make() && symbols_.make(program.symbol_count) && outputs_.make(program.output_count) &&
         folded_.make(program.folded_count);
}

bool Model::run(Engine& engine, const ConstantBuffer& constants, const AtenTensorHandle* inputs, AtenTensorHandle* outputs) {
  for (uint32_t k = 0; k < program.output_count; k++) outputs[k] = nullptr;
  Run run(engine, *this, constants);
  if (!inputs_.bind(inputs, symbols_.data(), engine.checks_inputs.load(std::memory_order_relaxed)) || !inputs_.lay_out(run))
    return false;
  run.inputs = inputs_.elements();
  if (!run.call(engine.code->run, engine.code->arena_bytes(symbols_.data()))) return false;
  for (uint32_t k = 0; k < program.output_count; k++) {
    if (!outputs_[k]) return fail("the program did not make output %u (%s)", k, program.outputs[k].name);
  }

  inputs_.write_back();
  for (uint32_t k = 0; k < program.output_count; k++) {
    outputs[k] = outputs_[k];
    outputs_[k] = nullptr;
  }
  return true;
}

bool Model::fold(Engine& engine, ConstantBuffer& constants, const Weights& weights) {
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
  if (engine.code->fold) {
    Run run(engine, *this, constants);
    run.folds = true;
    if (!run.call(engine.code->fold, engine.code->fold_arena_bytes)) return false;
    for (uint32_t k = 0; k < program.folded_count; k++) {
      if (!folded_[k]) return fail("the program did not make folded constant %u", k);
    }
    constants.take_folded(folded_.data());
  }
  constants.state = ConstantState::FOLDED;
  return true;
}

// ---- a run

struct alignas(kAlignment) Run::Allocation {
  Allocation* next;
};

Run::Run(Engine& e, Model& m, const ConstantBuffer& buffer) : ingot_frame{}, engine(e), model(m) {
  symbols = m.symbols_.data();
  constants = buffer.elements();
}

Run::~Run() {
  while (allocations_) {
    Allocation* next = allocations_->next;
    free(allocations_);
    allocations_ = next;
  }
  for (uint32_t k = 0; k < program.output_count; k++) {
    if (model.outputs_[k]) host().delete_tensor_object(model.outputs_[k]);
    model.outputs_[k] = nullptr;
  }
  for (uint32_t k = 0; k < program.folded_count; k++) {
    free(model.folded_[k]);
    model.folded_[k] = nullptr;
  }
}

bool Run::call(int32_t (*function)(ingot_frame*), int64_t arena_bytes) {
  arena = model.arena_.at_least(static_cast<uint64_t>(arena_bytes));
  if (!arena) return false;
  const ThreadsAtHand at_hand(engine.threads);
  if (function(this) == 0) return !has_failed;
  return has_failed ? false : fail("the program failed and did not say why");
}

void* Run::allocate_until_end(uint64_t bytes) {
  if (bytes > PTRDIFF_MAX - 2 * kAlignment) return fail_for_memory(bytes), nullptr;
  auto* allocation = static_cast<Allocation*>(allocate(sizeof(Allocation) + bytes));
  if (!allocation) return nullptr;
  allocation->next = allocations_;
  allocations_ = allocation;
  return allocation + 1;
}

void* Run::new_output(int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides) {
  const Host& h = host();
  if (k < 0 || static_cast<uint32_t>(k) >= program.output_count || model.outputs_[k]) {
    fail("the program made output %d, which it has not or has made already", k);
    return nullptr;
  }
  const ingot_output& output = program.outputs[k];
  AtenTensorHandle tensor = nullptr;
  void* data = nullptr;
  if (h.empty_strided(rank, sizes, strides, h.dtypes[output.dtype], h.cpu, 0, &tensor) != 0) {
    if (!h.is_own) INGOT_FAIL_FOR_HOST("aoti_torch_empty_strided");  // ours has said why
    return nullptr;
  }
  model.outputs_[k] = tensor;
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
  if (k < 0 || static_cast<uint32_t>(k) >= program.folded_count || model.folded_[k]) {
    fail("the program made folded constant %d, which it has not or has made already", k);
    return nullptr;
  }
  const ingot_constant& constant = program.constants[stored_constant_count() + static_cast<uint32_t>(k)];
  return model.folded_[k] = allocate(static_cast<uint64_t>(extent(rank, sizes, strides) * element_size(constant.dtype)));
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
  char* scratch = run.scratch(bytes);
  if (!scratch || !run.engine.threads.run(kernel, buffers, run.symbols, scratch, bytes, tasks, grain)) run.has_failed = true;
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
