// The functions of ingot/model.h.
#include "ingot/model.h"

#include <string.h>

#include "model/container.hpp"
#include "model/cpu.hpp"
#include "model/inputs.hpp"
#include "model/weights.hpp"

using namespace ingot::model;

namespace {

const ingot_program& program = ingot_the_program;

AOTIRuntimeError status(bool is_well) { return is_well ? AOTI_RUNTIME_SUCCESS : AOTI_RUNTIME_FAILURE; }

bool is_there(const char* what, size_t k, size_t count) { return k < count || fail("%s %zu: there are %zu", what, k, count); }

bool find_entry(const char* name, size_t* entry) {
  if (!name) return fail("the name of an entry point is null");
  Text known;
  for (uint32_t k = 0; k < program.entry_count; k++) {
    if (strcmp(program.entries[k].name, name) == 0) {
      *entry = k;
      return true;
    }
    known.add("%s%s", k ? ", " : "", program.entries[k].name);
  }
  return fail("the library has no entry point '%s'; it has %s", name, known.c_str());
}

// Answers a question about an entry point.
template <class Answer>
AOTIRuntimeError in_entry(size_t entry, Answer answer) {
  return status(is_there("entry point", entry, program.entry_count) && answer(program.entries[entry]));
}

template <class Action>
AOTIRuntimeError with(AOTInductorModelContainerHandle handle, Action action) {
  Container* container = reinterpret_cast<Container*>(handle);
  return status(container ? container->is_usable() && action(*container) : fail("the container handle is null"));
}

// What a host function says.
AOTIRuntimeError told(AOTITorchError error, const char* function) {
  if (error && !host().is_own) INGOT_FAIL_FOR_HOST(function);  // our own has left a text
  return status(!error);
}

// The host's code, or -1 after a failure.
int32_t host_dtype(int32_t dtype) {
  if (dtype >= 0 && dtype < kDtypeCodes && host().dtypes[dtype] >= 0) return host().dtypes[dtype];
  fail("dtype %d: expected one of ingot_dtype that the host has", dtype);
  return -1;
}

struct Strides {
  int64_t dense[INGOT_MAX_RANK];
};

bool dense_strides(int32_t rank, const int64_t* sizes, Strides* strides) {
  if (rank < 0 || rank > INGOT_MAX_RANK) return fail("rank: expected 0 to %d, found %d", INGOT_MAX_RANK, rank);
  if (rank && !sizes) return fail("the array of sizes is null");
  int64_t step = 1;
  for (int32_t d = rank; d-- > 0;) {
    strides->dense[d] = step;
    if (sizes[d] > 1 && __builtin_mul_overflow(step, sizes[d], &step))
      return fail("a tensor of more elements than can be counted");
  }
  return true;
}

}  // namespace

const char* ingot_last_error(void) { return last_error(); }
void ingot_print_errors(bool enabled) { set_prints_errors(enabled); }
void ingot_model_set_log(ingot_log_function write, void* context) { set_log(write, context); }

const ingot_program* const ingot_model_table = &ingot_the_program;

const char* ingot_model_name(void) { return program.name; }
size_t ingot_model_input_count(void) { return program.entries[0].input_count; }
size_t ingot_model_output_count(void) { return program.entries[0].output_count; }
size_t ingot_model_symbol_count(void) { return program.entries[0].symbol_count; }
size_t ingot_model_guard_count(void) { return program.entries[0].guard_count; }
size_t ingot_model_metadata_count(void) { return program.metadata_count; }
size_t ingot_model_level_count(void) { return program.level_count; }
size_t ingot_model_entry_count(void) { return program.entry_count; }

AOTIRuntimeError ingot_model_input(size_t k, ingot_value_info* info) { return ingot_entry_input(0, k, info); }
AOTIRuntimeError ingot_model_output(size_t k, ingot_value_info* info) { return ingot_entry_output(0, k, info); }
AOTIRuntimeError ingot_model_symbol(size_t k, ingot_symbol_info* info) { return ingot_entry_symbol(0, k, info); }
AOTIRuntimeError ingot_model_guard(size_t k, const char** condition) { return ingot_entry_guard(0, k, condition); }

AOTIRuntimeError ingot_model_entry(size_t entry, ingot_entry_info* info) {
  return in_entry(entry, [&](const ingot_entry& e) {
    *info = {e.name, e.in_spec, e.out_spec, e.input_count, e.output_count, e.symbol_count, e.guard_count};
    return true;
  });
}
AOTIRuntimeError ingot_model_find_entry(const char* name, size_t* entry) { return status(find_entry(name, entry)); }
AOTIRuntimeError ingot_entry_input(size_t entry, size_t k, ingot_value_info* info) {
  return in_entry(entry, [&](const ingot_entry& e) {
    if (!is_there("input", k, e.input_count)) return false;
    const ingot_input& i = e.inputs[k];
    *info = {i.name, i.dtype, i.rank, i.sizes, i.is_number != 0, i.is_written != 0};
    return true;
  });
}
AOTIRuntimeError ingot_entry_output(size_t entry, size_t k, ingot_value_info* info) {
  return in_entry(entry, [&](const ingot_entry& e) {
    if (!is_there("output", k, e.output_count)) return false;
    const ingot_output& o = e.outputs[k];
    *info = {o.name, o.dtype, o.rank, o.sizes, false, false};
    return true;
  });
}
AOTIRuntimeError ingot_entry_symbol(size_t entry, size_t k, ingot_symbol_info* info) {
  return in_entry(entry, [&](const ingot_entry& e) {
    if (!is_there("symbol", k, e.symbol_count)) return false;
    *info = {e.symbols[k].name, e.symbols[k].min, e.symbols[k].max};
    return true;
  });
}
AOTIRuntimeError ingot_entry_guard(size_t entry, size_t k, const char** condition) {
  return in_entry(entry, [&](const ingot_entry& e) {
    if (!is_there("guard", k, e.guard_count)) return false;
    *condition = e.guards[k].condition;
    return true;
  });
}
AOTIRuntimeError ingot_model_metadata(size_t k, const char** key, const char** value) {
  if (!is_there("metadata entry", k, program.metadata_count)) return AOTI_RUNTIME_FAILURE;
  *key = program.metadata[2 * k];
  *value = program.metadata[2 * k + 1];
  return AOTI_RUNTIME_SUCCESS;
}
AOTIRuntimeError ingot_model_level(size_t k, const char** level) {
  if (!is_there("level", k, program.level_count)) return AOTI_RUNTIME_FAILURE;
  *level = program.levels[k].name;
  return AOTI_RUNTIME_SUCCESS;
}
AOTIRuntimeError ingot_model_level_used(const char** level) {
  const int64_t chosen = choose_level(program);
  if (chosen >= 0) *level = program.levels[chosen].name;
  return status(chosen >= 0);
}
AOTIRuntimeError ingot_model_constant_sizes(size_t k, int32_t* rank, const int64_t** sizes) {
  if (!is_there("constant", k, program.constant_count)) return AOTI_RUNTIME_FAILURE;
  *rank = program.constants[k].rank;
  *sizes = program.constants[k].sizes;
  return AOTI_RUNTIME_SUCCESS;
}
const char* ingot_model_weights_file(void) { return program.weights == INGOT_WEIGHTS_EXTERNAL ? program.external_file : nullptr; }
AOTIRuntimeError ingot_model_set_weights_file(const char* path) {
  return status(path ? Weights::set_file(path) : fail("the path of the weights file is null"));
}

AOTIRuntimeError ingot_container_run_entry(AOTInductorModelContainerHandle container, size_t entry, AtenTensorHandle* inputs,
                                           size_t input_count, AtenTensorHandle* outputs, size_t output_count,
                                           AOTInductorStreamHandle stream) {
  const Taken taken(inputs, input_count);
  return with(container, [&](Container& c) { return c.run(entry, inputs, input_count, outputs, output_count, stream); });
}

AOTIRuntimeError ingot_container_run_into(AOTInductorModelContainerHandle container, size_t entry, AtenTensorHandle* inputs,
                                          size_t input_count, const ingot_tensor_info* places, AtenTensorHandle* outputs,
                                          size_t output_count, AOTInductorStreamHandle stream) {
  const Taken taken(inputs, input_count);
  return with(container, [&](Container& c) { return c.run(entry, inputs, input_count, outputs, output_count, stream, places); });
}

AOTIRuntimeError ingot_container_set_threads(AOTInductorModelContainerHandle container, int32_t count) {
  return with(container, [&](Container& c) { return c.engine().threads.set_count(count); });
}
AOTIRuntimeError ingot_container_get_threads(AOTInductorModelContainerHandle container, int32_t* count) {
  return with(container, [&](Container& c) {
    *count = c.engine().threads.count();
    return true;
  });
}
AOTIRuntimeError ingot_container_set_pool(AOTInductorModelContainerHandle container, const ingot_thread_pool* pool) {
  return with(container, [&](Container& c) { return c.engine().threads.set_pool(pool); });
}
AOTIRuntimeError ingot_container_set_seed(AOTInductorModelContainerHandle container, uint64_t seed) {
  return with(container, [&](Container& c) {
    c.engine().draws.set(seed, 0);
    return true;
  });
}
AOTIRuntimeError ingot_container_set_draw(AOTInductorModelContainerHandle container, uint64_t seed, uint64_t offset) {
  return with(container, [&](Container& c) {
    c.engine().draws.set(seed, offset);
    return true;
  });
}
AOTIRuntimeError ingot_container_get_draw(AOTInductorModelContainerHandle container, uint64_t* seed, uint64_t* offset) {
  return with(container, [&](Container& c) {
    c.engine().draws.get(seed, offset);
    return true;
  });
}
AOTIRuntimeError ingot_container_set_checks(AOTInductorModelContainerHandle container, bool enabled) {
  return with(container, [&](Container& c) {
    c.engine().checks_inputs.store(enabled, std::memory_order_relaxed);
    return true;
  });
}

AOTIRuntimeError ingot_container_update(AOTInductorModelContainerHandle container, const AOTInductorConstantMapEntry* pairs,
                                        size_t count, bool inactive, bool full) {
  return with(container, [&](Container& c) { return c.update_pairs(pairs, count, inactive, full, Give::elements); });
}
AOTIRuntimeError ingot_container_constant(AOTInductorModelContainerHandle container, const char* name, bool inactive,
                                          AtenTensorHandle* tensor) {
  return with(container, [&](Container& c) { return c.extract_one(name, inactive, tensor); });
}
AOTIRuntimeError ingot_container_memory(AOTInductorModelContainerHandle container, ingot_memory_kind kind, uint64_t* bytes) {
  return with(container, [&](Container& c) { return c.memory(kind, bytes); });
}

AOTIRuntimeError ingot_tensor_from_memory(void* data, int32_t dtype, int32_t rank, const int64_t* sizes, const int64_t* strides,
                                          AtenTensorHandle* tensor) {
  Strides dense;
  const int32_t code = host_dtype(dtype);
  if (code < 0 || !dense_strides(rank, sizes, &dense)) return AOTI_RUNTIME_FAILURE;
  return told(host().create_tensor_from_blob(data, rank, sizes, strides ? strides : dense.dense, 0, code, host().cpu, 0, tensor),
              "aoti_torch_create_tensor_from_blob");
}
AOTIRuntimeError ingot_tensor_new(int32_t dtype, int32_t rank, const int64_t* sizes, AtenTensorHandle* tensor) {
  Strides dense;
  const int32_t code = host_dtype(dtype);
  if (code < 0 || !dense_strides(rank, sizes, &dense)) return AOTI_RUNTIME_FAILURE;
  return told(host().empty_strided(rank, sizes, dense.dense, code, host().cpu, 0, tensor), "aoti_torch_empty_strided");
}
AOTIRuntimeError ingot_tensor_share(AtenTensorHandle tensor, AtenTensorHandle* copy) {
  if (!tensor) return status(fail("the tensor is null"));
  return told(host().new_tensor_handle(tensor, copy), "aoti_torch_new_tensor_handle");
}
AOTIRuntimeError ingot_tensor_describe(AtenTensorHandle tensor, ingot_tensor_info* info) {
  ingot_view view;
  int32_t device;
  if (!view_tensor(tensor, "the tensor", &view, &device)) return AOTI_RUNTIME_FAILURE;
  *info = {view.data, view.dtype, view.rank, view.sizes, view.strides};
  return AOTI_RUNTIME_SUCCESS;
}
AOTIRuntimeError ingot_tensor_delete(AtenTensorHandle tensor) {
  return tensor ? told(host().delete_tensor_object(tensor), "aoti_torch_delete_tensor_object") : AOTI_RUNTIME_SUCCESS;
}
bool ingot_tensor_is_own(void) { return host().is_own; }

AOTIRuntimeError ingot_entry_symbol_values(size_t entry, const ingot_tensor_info* inputs, size_t input_count, int64_t* values,
                                           size_t* decided) {
  return in_entry(entry, [&](const ingot_entry& e) {
    if (input_count != e.input_count) return fail("inputs: expected %u, found %zu", e.input_count, input_count);
    Inputs given;
    *decided = e.input_symbol_count;
    return given.make(e, Device()) && given.bind_sizes(inputs, values);
  });
}
