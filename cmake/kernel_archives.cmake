# What is linked into the models that Ingot makes, for every target it can compile for: the runtime
# of src/model as an archive that goes in whole (nothing refers to the functions that a model
# exports), the kernels of src/kernels as one from which lld takes what a model uses, and stand-ins
# for the target's libc and libm to link against.
# The foreign target needs Debian's cross compiler (`make setup`).

set(INGOT_KERNEL_DIR ${PROJECT_BINARY_DIR}/lib)

# Sets compiler_ARCH and ar_ARCH: this build's own for its own architecture, Debian's cross tools
# for the other.
macro(ingot_find_compiler arch)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL ${arch})
    set(compiler_${arch} ${CMAKE_CXX_COMPILER})
    set(ar_${arch} ${CMAKE_AR})
  else()
    find_program(INGOT_CXX_${arch} ${arch}-linux-gnu-g++)
    find_program(INGOT_AR_${arch} ${arch}-linux-gnu-ar)
    if(NOT INGOT_CXX_${arch} OR NOT INGOT_AR_${arch})
      string(REPLACE _ - package ${arch})
      message(FATAL_ERROR "no compiler for ${arch}: run `make setup`, or install g++-${package}-linux-gnu")
    endif()
    set(compiler_${arch} ${INGOT_CXX_${arch}})
    set(ar_${arch} ${INGOT_AR_${arch}})
  endif()
endmacro()

# Sets result to the sources of the runtime that goes into every model.
function(ingot_model_sources result)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/model/*.cpp)
  set(${result} ${sources} ${PROJECT_SOURCE_DIR}/src/base/thread_pool.cpp PARENT_SCOPE)
endfunction()

# ingot_target_archive(NAME ARCH SOURCES source... FLAGS flag...): makes lib/libingot_NAME_ARCH.a.
function(ingot_target_archive library arch)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;FLAGS")
  set(target ingot_${library}_archive_${arch})
  add_library(${target} STATIC ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ingot_${library}_${arch})
  # No exceptions, no run-time types, no locks around statics: a model needs nothing but libc.
  target_compile_options(${target} PRIVATE
    -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-math-errno -fno-asynchronous-unwind-tables ${guards}
    ${arg_FLAGS})
endfunction()

# Makes lib/libc_ARCH.so and lib/libm_ARCH.so.
function(ingot_libc_stubs arch)
  foreach(library IN ITEMS libc libm)
    add_custom_command(
      OUTPUT ${INGOT_KERNEL_DIR}/${library}_${arch}.so
      COMMAND ${PROJECT_SOURCE_DIR}/cmake/libc_stub.sh ${compiler_${arch}} ${CMAKE_READELF} ${library}.so.6
              ${INGOT_KERNEL_DIR}/${library}_${arch}.so
      DEPENDS ${PROJECT_SOURCE_DIR}/cmake/libc_stub.sh
      COMMENT "Making the stand-in for ${library} of ${arch}"
      VERBATIM)
  endforeach()
endfunction()

# The target ingot_kernels_ARCH: all of it for a target; and a test that no kernel needs more than
# libc.
function(ingot_kernel_archives arch)
  file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.cpp)
  ingot_model_sources(runtime)
  ingot_target_archive(kernels ${arch} SOURCES ${kernels} FLAGS -O3)
  ingot_target_archive(model ${arch} SOURCES ${runtime} FLAGS -Os)  # runs once a call, and is most of a small library
  ingot_libc_stubs(${arch})
  set(archive ${INGOT_KERNEL_DIR}/libingot_kernels_${arch}.a)
  set(stubs ${INGOT_KERNEL_DIR}/libm_${arch}.so ${INGOT_KERNEL_DIR}/libc_${arch}.so)
  add_custom_target(ingot_kernels_${arch} DEPENDS ${stubs})
  add_dependencies(ingot_kernels_${arch} ingot_kernels_archive_${arch} ingot_model_archive_${arch})
  install(FILES ${archive} ${INGOT_KERNEL_DIR}/libingot_model_${arch}.a ${stubs} DESTINATION lib/ingot COMPONENT compiler)
  add_test(NAME kernels/need_libc_only_${arch}
    COMMAND ${compiler_${arch}} -shared -nostdlib -Wl,-z,defs -Wl,--whole-archive ${archive} -Wl,--no-whole-archive
            ${stubs} -o ${CMAKE_CURRENT_BINARY_DIR}/all_kernels.so)
endfunction()
