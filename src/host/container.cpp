#include "host/container.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/process_pool.hpp"
#include "io/file.hpp"

namespace ingot {
namespace {

HandleMap map_of(ModelContainer::Pairs pairs) {
  HandleMap map;
  for (const AOTInductorConstantMapEntry& p : pairs) map.emplace(p.name, p.handle);
  return map;
}

std::string own_text(const ModelLibrary& library, const char*, const CallSite&) {
  const std::string why = library.last_error();
  return why.empty() ? text(library.path(), ": a call failed; the library does not say why") : why;
}
std::string missing_function(const char* function, const char*) { return text("the library has no function ", function); }

}  // namespace

const FailureWords kPlainWords = {own_text, missing_function, [] {}};

ModelContainer::ModelContainer(std::shared_ptr<const ModelLibrary> loaded, const ContainerOptions& options,
                               const FailureWords& words, CallSite from)
    : library_(std::move(loaded)), proxy_(options.proxy), words_(words) {
  const char* cubin_dir = options.cubin_dir.empty() ? nullptr : options.cubin_dir.c_str();
  INGOT_MODEL_CALL(AOTInductorModelContainerCreateWithDevice, &container_, options.models, options.device.c_str(), cubin_dir);
  if (!library_->ingot_container_set_pool) return;
  const ingot_thread_pool* pool = options.pool ? options.pool : &shared_process_pool();
  INGOT_MODEL_CALL(ingot_container_set_pool, container_, pool);
}

ModelContainer::~ModelContainer() {
  if (library_->AOTInductorModelContainerDelete(container_) != AOTI_RUNTIME_SUCCESS) words_.not_deleted();
}

void ModelContainer::require(AOTIRuntimeError error, const char* call, CallSite from) const {
  if (error != AOTI_RUNTIME_SUCCESS) throw_user_error(words_.failed(*library_, call, from));
}

void ModelContainer::require_function(bool is_there, const char* function, const char* action) const {
  if (!is_there) throw_user_error(words_.missing(function, action));
}

std::vector<ModelContainer::Constant> ModelContainer::constants(CallSite from) const {
  std::size_t count = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetNumConstants, container_, &count);
  std::vector<Constant> all(count);
  for (std::size_t k = 0; k < count; k++) {
    Constant& c = all[k];
    const char *name = "", *fqn = "";
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantName, container_, k, &name);
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantOriginalFQN, container_, k, &fqn);
    INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantDtype, container_, k, &c.dtype);
    // Libraries of older compilers than ours do not have all of these.
    if (library().AOTInductorModelContainerGetConstantType)
      INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantType, container_, k, &c.kind);
    if (library().AOTInductorModelContainerGetConstantFromFolded)
      INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantFromFolded, container_, k, &c.is_folded);
    if (library().AOTInductorModelContainerGetConstantDataSize)
      INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantDataSize, container_, k, &c.bytes);
    c.name = name;
    c.fqn = fqn;
  }
  return all;
}

void ModelContainer::update(Pairs pairs, Give give, bool inactive, bool full, CallSite from) {
  if (give == Give::elements && library().is_own())
    return INGOT_MODEL_CALL(ingot_container_update, container_, pairs.data(), pairs.size(), inactive, full);
  HandleMap map = map_of(pairs);
  if (give != Give::in_place)
    return INGOT_MODEL_CALL(AOTInductorModelContainerUpdateConstantBuffer, container_, as_handle(map), inactive, full);
  INGOT_NEED_FUNCTION(AOTInductorModelContainerUpdateUserManagedConstantBuffer, "update_user_managed_constant_buffer");
  INGOT_MODEL_CALL(AOTInductorModelContainerUpdateUserManagedConstantBuffer, container_, as_handle(map), inactive, full);
}

void ModelContainer::update_inactive(Pairs pairs, CallSite from) {
  HandleMap map = map_of(pairs);
  INGOT_MODEL_CALL(AOTInductorModelContainerUpdateInactiveConstantBuffer, container_, as_handle(map));
}

void ModelContainer::update_from_blob(const std::string& path, CallSite from) {
  INGOT_NEED_FUNCTION(AOTInductorModelContainerGetConstantsBlobSize, "update_constants_from_blob");
  INGOT_NEED_FUNCTION(AOTInductorModelUpdateConstantsFromBlob, "update_constants_from_blob");
  uint64_t size = 0;
  INGOT_MODEL_CALL(AOTInductorModelContainerGetConstantsBlobSize, container_, &size);
  Ref<MappedFile> file;
  try {
    file = MappedFile::open(path);
  } catch (const UserError& e) {
    throw_user_error(text("Failed to open external weights file: ", path, ": ", e.what()));
  }
  INGOT_REQUIRE(file->size() >= size, "mmap() failed: ", path, " has ", file->size(), " bytes, the library's constants need ",
                size);
  INGOT_MODEL_CALL(AOTInductorModelUpdateConstantsFromBlob, container_, reinterpret_cast<const uint8_t*>(file->data()));
}

void ModelContainer::fold(bool inactive, AOTInductorStreamHandle stream, CallSite from) {
  INGOT_MODEL_CALL(AOTInductorModelContainerRunConstantFolding, container_, inactive, stream, proxy());
}

void ModelContainer::swap(CallSite from) { INGOT_MODEL_CALL(AOTInductorModelContainerSwapConstantBuffer, container_); }

void ModelContainer::free_inactive(CallSite from) {
  INGOT_NEED_FUNCTION(AOTInductorModelContainerFreeInactiveConstantBuffer, "free_inactive_constant_buffer");
  INGOT_MODEL_CALL(AOTInductorModelContainerFreeInactiveConstantBuffer, container_);
}

HandleMap ModelContainer::extract(bool inactive, CallSite from) const {
  INGOT_NEED_FUNCTION(AOTInductorModelContainerExtractConstantsMap, "extract_constants_map");
  HandleMap map;
  INGOT_MODEL_CALL(AOTInductorModelContainerExtractConstantsMap, container_, as_handle(map), inactive);
  return map;
}

AtenTensorHandle ModelContainer::extract_one(const Constant& constant, bool inactive, CallSite from) const {
  AtenTensorHandle handle = nullptr;
  if (library().is_own()) {
    INGOT_MODEL_CALL(ingot_container_constant, container_, constant.name.c_str(), inactive, &handle);
    return handle;
  }
  const HandleMap all = extract(inactive, from);
  const auto found = all.find(constant.fqn);
  return found == all.end() ? nullptr : found->second;
}

void ModelContainer::set_threads(int32_t count, CallSite from) {
  INGOT_MODEL_CALL(ingot_container_set_threads, container_, count);
}

void ModelContainer::set_seed(uint64_t seed, CallSite from) { INGOT_MODEL_CALL(ingot_container_set_draw, container_, seed, 0); }

uint64_t ModelContainer::memory(ingot_memory_kind kind, CallSite from) const {
  INGOT_REQUIRE(library().ingot_container_memory, library().path(),
                " was made by AOTInductor or by an older version of Ingot, and does not say what memory it takes");
  uint64_t bytes = 0;
  INGOT_MODEL_CALL(ingot_container_memory, container_, kind, &bytes);
  return bytes;
}

}  // namespace ingot
