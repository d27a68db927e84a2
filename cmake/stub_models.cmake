# ingot_stub_models(TARGET): libraries of tests/runner/programs/stub.c for the tests of TARGET, which find them in
# INGOT_STUB_DIR as NAME.so: a whole one, one of an old compiler, one that needs a host function nobody has.
function(ingot_stub_models target)
  if(NOT TARGET ${target})
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/stub_models)
  foreach(entry IN ITEMS "stub" "stub_old OLD" "stub_needs NEEDS=aoti_torch_cpu_no_such_op")
    separate_arguments(words UNIX_COMMAND ${entry})
    list(POP_FRONT words name)
    add_library(ingot_${name} MODULE ${PROJECT_SOURCE_DIR}/tests/runner/programs/stub.c)
    target_include_directories(ingot_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_compile_definitions(ingot_${name} PRIVATE ${words})
    set_target_properties(ingot_${name} PROPERTIES OUTPUT_NAME ${name} PREFIX "" C_VISIBILITY_PRESET hidden
                          LIBRARY_OUTPUT_DIRECTORY ${folder})
    add_dependencies(${target} ingot_${name})
  endforeach()
  target_compile_definitions(${target} PRIVATE INGOT_STUB_DIR="${INGOT_BUILD_AT}/stub_models")
endfunction()
