// One instance of the program: it runs one entry point at a time, in memory that it keeps from one
// run to the next.
#pragma once
#include "model/constants.hpp"
#include "model/device.hpp"
#include "model/engine.hpp"
#include "model/inputs.hpp"

namespace ingot::model {

// What the runs of one entry point keep.
struct EntryMemory {
  bool make(const ingot_entry& entry, const Device& device);

  Inputs inputs;
  Array<int64_t> symbols;
  Array<AtenTensorHandle> outputs;
};

class Model {
 public:
  Model() = default;
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  bool make(const Device& device);

  // Runs the entry of that place among the program's, on the stream. The input handles stay the
  // caller's, the output handles become it (null after a failure). The buffer is folded. `places`:
  // memory of the caller for each output, as ingot_container_run_into; may be null.
  bool run(Engine& engine, size_t entry, const ConstantBuffer& constants, const AtenTensorHandle* inputs,
           AtenTensorHandle* outputs, void* stream, const ingot_tensor_info* places = nullptr);

  // Computes the folded constants from the others, all of which the buffer must have, unless they
  // are there already; its state is then FOLDED. `weights`: the container's.
  bool fold(Engine& engine, ConstantBuffer& constants, const Weights& weights, void* stream);

 private:
  friend struct Run;

  bool fold_all(Engine& engine, const ConstantBuffer& constants, void* stream);

  Array<EntryMemory*> entries_;
  Folded* making_ = nullptr;  // where folding puts what it computes
  Workspace arena_, scratch_;
  LastStream stream_;  // in this model's memory
};

// A run, or a folding, in progress: what generated code knows, and what it does not.
struct Run : ingot_frame {
  Run(Engine& e, Model& m, size_t entry, const ConstantBuffer& constants, void* stream);
  ~Run();  // releases outputs that nobody took, and the memory of ingot_rt_alloc
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void* new_output(int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides);
  void* new_folded(int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides);
  void* allocate_until_end(uint64_t bytes);
  Workspace& scratch() { return model.scratch_; }
  bool call(int32_t (*function)(ingot_frame*), int64_t arena_bytes);

  Engine& engine;
  Model& model;
  const ingot_entry& entry;
  EntryMemory& memory;
  ThreadsOfRun threads;
  const ingot_tensor_info* places = nullptr;  // of the outputs; null: none
  bool folds = false;
  bool has_failed = false;

 private:
  AtenTensorHandle output_in_place(int32_t k, int32_t rank, const int64_t* sizes, const int64_t* strides) const;

  struct Allocation;
  Allocation* allocations_ = nullptr;
};

}  // namespace ingot::model
