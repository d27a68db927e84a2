# ingot_llvm: LLVM and lld, linked statically. Only src/codegen and src/backend may use it.
# libLLVM.so must never come along: two copies of LLVM in one process share their registries and
# hang. tests/e2e checks.

find_package(LLVM 19.1 REQUIRED CONFIG)  # "19" alone is refused by LLVM's own version file
find_package(LLD REQUIRED CONFIG PATHS ${LLVM_LIBRARY_DIR}/cmake/lld NO_DEFAULT_PATH)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}")

# Debian's lld targets name libLLVM.so, and LLVMExtensions names Polly; src/codegen/llvm/stubs.cpp
# stands in for the rest.
set_target_properties(lldELF lldCommon LLVMExtensions PROPERTIES INTERFACE_LINK_LIBRARIES "")

llvm_map_components_to_libnames(llvm_libraries
  core support passes target analysis irreader linker bitreader bitwriter lto object objcopy option debuginfodwarf windowsdriver
  aarch64codegen aarch64info aarch64desc
  x86codegen x86info x86desc
  nvptxcodegen nvptxinfo nvptxdesc)

separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
list(TRANSFORM llvm_definitions REPLACE "^-D" "")

# A library of its own, because it must come after those that call it.
add_library(ingot_llvm_stubs STATIC src/codegen/llvm/stubs.cpp)
target_include_directories(ingot_llvm_stubs SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(ingot_llvm_stubs PRIVATE ${llvm_definitions})

add_library(ingot_llvm INTERFACE)
target_include_directories(ingot_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
target_compile_definitions(ingot_llvm INTERFACE ${llvm_definitions})
target_link_libraries(ingot_llvm INTERFACE lldELF lldCommon ${llvm_libraries} ingot_llvm_stubs ${CMAKE_DL_LIBS})
