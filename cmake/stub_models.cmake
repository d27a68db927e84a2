# ingot_stub_models(TARGET): libraries of tests/runner/programs/stub.c for the tests of TARGET,
# which find them in INGOT_STUB_DIR as NAME.so: a whole one, one of an old compiler, one that needs
# a host function nobody has, and three that need libtorch by a name that nobody has, one of them of
# operators.
function(ingot_stub_models target)
  if(NOT TARGET ${target})
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/stub_models)
  add_library(ingot_no_torch SHARED ${PROJECT_SOURCE_DIR}/tests/runner/programs/nothing.c)  # to link with, and never there at run time
  set_target_properties(ingot_no_torch PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder}/never NO_SONAME ON)
  target_link_options(ingot_no_torch PRIVATE -Wl,-soname,libtorch_cpu.so.9.99)
  foreach(entry IN ITEMS "stub" "stub_old OLD" "stub_needs NEEDS=aoti_torch_cpu_no_such_op" "stub_torch"
                         "stub_torch_needs NEEDS=aoti_torch_cpu_no_such_op" "stub_torch_operators")
    separate_arguments(words UNIX_COMMAND ${entry})
    list(POP_FRONT words name)
    set(source stub)
    if(name STREQUAL "stub_torch_operators")
      set(source operators)
    endif()
    add_library(ingot_${name} MODULE ${PROJECT_SOURCE_DIR}/tests/runner/programs/${source}.c)
    target_include_directories(ingot_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(ingot_${name} PRIVATE ${words})
    set_target_properties(ingot_${name} PROPERTIES OUTPUT_NAME ${name} PREFIX "" C_VISIBILITY_PRESET hidden
                          LIBRARY_OUTPUT_DIRECTORY ${folder})
    add_dependencies(${target} ingot_${name})
    if(name MATCHES "torch")
      target_link_libraries(ingot_${name} PRIVATE -Wl,--no-as-needed ingot_no_torch)
      set_target_properties(ingot_${name} PROPERTIES SKIP_BUILD_RPATH ON)
    endif()
  endforeach()
  target_compile_definitions(${target} PRIVATE INGOT_STUB_DIR="${INGOT_BUILD_AT}/stub_models")
endfunction()
