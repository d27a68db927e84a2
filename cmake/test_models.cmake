# Model libraries written by hand in C (tests/model/programs), made of the runtime that goes into
# every model. Those of this machine's architecture are loaded by the tests; those of the other one,
# and a C program that loads them, run under qemu.

# What each library is: NAME SOURCE [definition...].
set(INGOT_TEST_MODELS
  "affine affine.c MUTATES=1"
  "affine_pure affine.c"
  "affine_external affine.c WEIGHTS=EXTERNAL"
  "affine_pages affine.c WEIGHTS=EXTERNAL MUTATES=1 AROUND=65536"
  "affine_none affine.c WEIGHTS=0"
  "affine_appended affine.c WEIGHTS=APPENDED"
  "affine_no_level affine.c NO_LEVEL=1"
  "affine_mixed affine.c BIAS_DEVICE=1"
  "affine_device affine.c DEVICE=1 MUTATES=1 BIAS_DEVICE=71"
  "many many.c"
  "entries entries.c")

# The runtime with this build's sanitizers in it: the archive has none.
function(ingot_sanitized_model name source)
  if(NOT TARGET ingot_model_sanitized)
    ingot_model_sources(sources)
    add_library(ingot_model_sanitized OBJECT ${sources})
    target_include_directories(ingot_model_sanitized PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(ingot_model_sanitized PRIVATE -fvisibility=hidden -fno-exceptions -fno-threadsafe-statics)
  endif()
  add_library(test_model_${name} MODULE ${source} $<TARGET_OBJECTS:ingot_model_sanitized>)
  target_include_directories(test_model_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(test_model_${name} PRIVATE ${ARGN})
  set_target_properties(test_model_${name} PROPERTIES OUTPUT_NAME ${name}_${CMAKE_SYSTEM_PROCESSOR} PREFIX "" C_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test_models)
endfunction()

# ingot_test_models(TARGET): builds them before the tests of TARGET, which find them in
# INGOT_TEST_MODEL_DIR as NAME_ARCH.so, and the C programs plain_ARCH and hidden_host_ARCH beside
# them.
function(ingot_test_models target)
  if(NOT TARGET ${target})
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/test_models)
  file(MAKE_DIRECTORY ${folder})
  set(programs ${PROJECT_SOURCE_DIR}/tests/model/programs)
  set(files "")
  foreach(arch IN ITEMS x86_64 aarch64)
    ingot_find_compiler(${arch})
    string(REGEX REPLACE "g\\+\\+([^/]*)$" "gcc\\1" c_compiler ${compiler_${arch}})
    set(sanitize "")
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL ${arch})
      set(c_compiler ${CMAKE_C_COMPILER})
      if(INGOT_SANITIZE)
        set(sanitize -g -fsanitize=${INGOT_SANITIZE})
      endif()
    endif()

    foreach(entry IN LISTS INGOT_TEST_MODELS)
      separate_arguments(words UNIX_COMMAND ${entry})
      list(POP_FRONT words name source)
      if(sanitize)
        ingot_sanitized_model(${name} ${programs}/${source} ${words})
        add_dependencies(${target} test_model_${name})
        continue()
      endif()
      list(TRANSFORM words PREPEND -D OUTPUT_VARIABLE definitions)
      set(archive ${INGOT_KERNEL_DIR}/libingot_model_${arch}.a)
      set(stubs ${INGOT_KERNEL_DIR}/libm_${arch}.so ${INGOT_KERNEL_DIR}/libc_${arch}.so)
      set(library ${folder}/${name}_${arch}.so)
      add_custom_command(
        OUTPUT ${library}
        COMMAND ${c_compiler} -std=c11 -O1 ${INGOT_WARNINGS} -fPIC -fvisibility=hidden -I${PROJECT_SOURCE_DIR}/src ${definitions}
                -shared -nostdlib -Wl,-z,defs -Wl,--gc-sections -Wl,-soname,${name}_${arch}.so ${programs}/${source}
                -Wl,--whole-archive ${archive} -Wl,--no-whole-archive -Wl,--as-needed ${stubs} -o ${library}
        DEPENDS ${programs}/${source} ${programs}/fake_device.h ${programs}/fake_device_record.h
                ${PROJECT_SOURCE_DIR}/src/model/program.h ingot_model_archive_${arch} ${stubs}
        COMMENT "Linking the test model ${name} for ${arch}"
        VERBATIM)
      list(APPEND files ${library})
    endforeach()

    foreach(name IN ITEMS plain hidden_host)
      set(program ${folder}/${name}_${arch})
      add_custom_command(
        OUTPUT ${program}
        COMMAND ${c_compiler} -std=c11 -D_DEFAULT_SOURCE -O1 ${INGOT_WARNINGS} -pedantic ${sanitize} -I${PROJECT_SOURCE_DIR}/include
                -rdynamic ${programs}/${name}.c -o ${program} -ldl -lpthread
        DEPENDS ${programs}/${name}.c ${PROJECT_SOURCE_DIR}/include/ingot/model.h ${PROJECT_SOURCE_DIR}/include/ingot/aoti.h
                ${PROJECT_SOURCE_DIR}/include/ingot/aoti_host.h
        COMMENT "Compiling the C program ${name} for ${arch}"
        VERBATIM)
      list(APPEND files ${program})
    endforeach()
  endforeach()
  add_custom_target(${target}_files DEPENDS ${files})
  add_dependencies(${target} ${target}_files)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/model/counting_host.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/model/counting_host.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # The same functions in a library of which a model knows nothing, not even the name.
  foreach(host IN ITEMS some_host old_host)
    add_library(ingot_${host} MODULE ${PROJECT_SOURCE_DIR}/tests/model/counting_host.cpp)
    target_include_directories(ingot_${host} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    set_target_properties(ingot_${host} PROPERTIES OUTPUT_NAME ${host} PREFIX lib LIBRARY_OUTPUT_DIRECTORY ${folder}/hidden)
    if(INGOT_SANITIZE)
      target_compile_options(ingot_${host} PRIVATE -fno-sanitize=vptr)  # of C++, which the program that loads it has not
    endif()
    add_dependencies(${target} ingot_${host})
  endforeach()
  # As PyTorch 2.6 has it.
  target_compile_definitions(ingot_old_host PRIVATE aoti_torch_new_tensor_handle=aoti_torch_assign_tensors_out)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE PkgConfig::xxhash)
  target_compile_definitions(${target} PRIVATE INGOT_TEST_MODEL_DIR="${INGOT_BUILD_AT}/test_models" INGOT_ARCH="${CMAKE_SYSTEM_PROCESSOR}")
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)  # the models look for the host in the program
endfunction()
