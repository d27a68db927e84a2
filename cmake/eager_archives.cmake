# The eager library as a static archive for every target, lib/libingot_eager_ARCH.a: what a model is
# linked with where it calls ops that have no machine code of their own (src/eager). The C++ runtime
# of the target is in it, so that such a model needs libc and libm alone, as every other does.

# What is in it, under src/: everything the ops of a model call.
set(eager_sources
  base/dtype.cpp base/error.cpp expr/number.cpp expr/op_info.cpp expr/scalar.cpp expr/shape.cpp tensor/*.cpp op/*.cpp eager/*.cpp ops/api.cpp)
foreach(family IN ITEMS common pointwise shape reduce matmul linalg fft conv image network loss index sort random factory
                        quantize sparse)
  list(APPEND eager_sources ops/${family}/*.cpp)
endforeach()
# What handles elements is compiled to be fast, here and in the libraries (ingot_element_part); all
# else handles calls, and is to be small.
set(eager_fast
  tensor/rows.cpp ops/common/accumulate.cpp ops/pointwise/*.cpp ops/reduce/*.cpp ops/linalg/*.cpp ops/conv/*.cpp ops/image/*.cpp
  ops/index/*.cpp ops/sort/*.cpp ops/matmul/batched_product.cpp ops/matmul/distance.cpp ops/fft/fft.cpp ops/network/layer_norm.cpp
  ops/loss/class_loss.cpp ops/random/random.cpp ops/factory/sequence.cpp ops/quantize/packed_weights.cpp)
# In these folders handle calls alone:
set(eager_small ops/index/advanced.cpp ops/index/scatter.cpp ops/reduce/difference.cpp ops/sort/order_statistics.cpp)
# Of these folders the archive has some sources in a form of its own (src/eager) …
set(eager_without
  tensor/cpu_driver.cpp tensor/device.cpp tensor/device_elements.cpp tensor/random.cpp tensor/stand_in.cpp op/device_kernels.cpp
  op/registry.cpp ops/sparse/sparse_tensor.cpp)
# … and no use for others: traces, vmap, code, text, functions as arguments, tensors of other
# classes or libraries.
list(APPEND eager_without
  tensor/dlpack.cpp tensor/print.cpp op/applied.cpp op/aten_table.cpp op/batching.cpp op/function.cpp op/side_effects.cpp
  op/source_note.cpp op/upper_layers.cpp op/vjp.cpp op/wrapper.cpp op/wrapper_functions.cpp op/wrapper_handler.cpp op/wrapper_layout.cpp
  ops/common/lower_rules.cpp ops/conv/lower.cpp ops/image/pool_lower.cpp
  ops/reduce/reduction_lower.cpp)

# ingot_eager_sources(VAR PATTERN...): the sources of the archive that match, relative to src/.
function(ingot_eager_sources result)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${patterns})
  list(REMOVE_ITEM sources ${eager_without})
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

# ingot_element_part(NAME HEADER...): the sources of ingot_NAME that handle elements are compiled as
# a release build is by default, whatever ingot_optimize said of the rest, with a precompiled header
# of their own: g++ breaks over one of another level.
function(ingot_element_part name)
  ingot_eager_sources(elements ${eager_fast})
  list(REMOVE_ITEM elements ${eager_small})
  list(FILTER elements INCLUDE REGEX ^${name}/)
  list(TRANSFORM elements PREPEND ${PROJECT_SOURCE_DIR}/src/)
  get_target_property(sources ingot_${name} SOURCES)
  list(REMOVE_ITEM sources ${elements})
  set_property(TARGET ingot_${name} PROPERTY SOURCES ${sources})

  set(target ingot_${name}_elements)
  add_library(${target} OBJECT ${elements})
  ingot_batch(${target} "" "")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${INGOT_INCLUDE})
  add_dependencies(${target} ingot_generated)
  ingot_precompile(${target} ${ARGN})
  target_sources(ingot_${name} PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()

# ingot_eager_objects(NAME FLAGS SOURCE...): the object library NAME of the sources, relative to
# src/.
function(ingot_eager_objects name flags)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE sources)
  add_library(${name} OBJECT ${sources})
  target_compile_options(${name} PRIVATE ${flags})
  add_dependencies(${name} ingot_generated)
  # What makes it an archive of ops for models, first and in every preset, and what nearly every
  # source includes.
  target_precompile_headers(${name} PRIVATE <eager/archive.hpp> <ingot/ingot.hpp> <op/kernel.hpp>)
endfunction()

# The target ingot_eager_ARCH: the archive. Its sources are not compiled in batches: an op would be
# defined after its name was used, which one source must not do (eager/archive.hpp), and lld takes
# from the archive what a model needs, source by source.
function(ingot_eager_archive arch)
  set(small -Os)
  if(compiler_${arch} STREQUAL CMAKE_CXX_COMPILER AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    set(flags ${eager_guards} ${INGOT_CLANG_FLAGS})
    set(small -Oz)  # what -Os is to g++
  else()
    set(flags ${eager_guards} -fno-gnu-unique ${INGOT_GNU_FLAGS})
  endif()
  ingot_eager_sources(fast_sources ${eager_fast})
  list(REMOVE_ITEM fast_sources ${eager_small})
  ingot_eager_sources(small_sources ${eager_sources})
  list(REMOVE_ITEM small_sources ${fast_sources})
  ingot_eager_objects(ingot_eager_fast_${arch} "${flags};-O2" ${fast_sources})
  ingot_eager_objects(ingot_eager_small_${arch} "${flags};${small}" ${small_sources})

  set(archive ${INGOT_KERNEL_DIR}/libingot_eager_${arch}.a)
  set(script "CREATE ${archive}\n")
  foreach(library IN ITEMS libstdc++.a libgcc.a libgcc_eh.a)
    execute_process(COMMAND ${compiler_${arch}} -print-file-name=${library} OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND script "ADDLIB ${file}\n")
  endforeach()
  string(APPEND script "DELETE eh_term_handler.o\n")  # cxx_runtime.cpp defines it; which ar put first in the archive would win
  set(objects $<TARGET_OBJECTS:ingot_eager_fast_${arch}> $<TARGET_OBJECTS:ingot_eager_small_${arch}>)
  # CMake counts precompiled headers among the objects of a target.
  string(APPEND script "ADDMOD $<JOIN:$<FILTER:${objects},INCLUDE,\\.o$>,\nADDMOD >\nSAVE\nEND\n")
  set(script_file ${CMAKE_CURRENT_BINARY_DIR}/eager_archive.mri)
  file(GENERATE OUTPUT ${script_file} CONTENT "${script}")
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${ar_${arch}} -M < ${script_file}
    DEPENDS ${objects} ${script_file}
    COMMENT "Archiving the eager library for models of ${arch}"
    VERBATIM)
  add_custom_target(ingot_eager_${arch} DEPENDS ${archive})
  install(FILES ${archive} DESTINATION lib/ingot COMPONENT compiler)
endfunction()

# ingot_eager_harness(TARGET): tests/eager/harness.c for both targets; the tests of TARGET find it
# as INGOT_EAGER_HARNESS, to which the architecture and ".o" are added.
function(ingot_eager_harness target)
  if(NOT TARGET ${target})
    return()
  endif()
  set(objects "")
  foreach(arch IN ITEMS x86_64 aarch64)
    ingot_find_compiler(${arch})
    set(object ${PROJECT_BINARY_DIR}/eager/harness_${arch}.o)
    set(source ${PROJECT_SOURCE_DIR}/tests/eager/harness.c)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${compiler_${arch}} -x c -std=c11 -D_DEFAULT_SOURCE -O1 ${INGOT_WARNINGS} -fPIC -fvisibility=hidden
              -I${PROJECT_SOURCE_DIR}/src -c ${source} -o ${object}
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/src/model/program.h
      COMMENT "Compiling tests/eager/harness.c for ${arch}"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_target(ingot_eager_harness DEPENDS ${objects})
  add_dependencies(${target} ingot_eager_harness)
  target_compile_definitions(${target} PRIVATE INGOT_EAGER_HARNESS="${INGOT_BUILD_AT}/eager/harness")
endfunction()
