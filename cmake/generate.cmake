# What data/aten_schemas.tsv becomes in C++: ingot_generate (src/generate) writes headers, which
# whoever knows tensors includes, and sources of ops.

# ingot_generated_ops(): the target ingot_generated. Headers are put into include/ingot of the build
# folder, INGOT_INCLUDE names both folders of public headers; sources are INGOT_GENERATED_SOURCES.
macro(ingot_generated_ops)
  file(GLOB generate_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/generate/*.cpp)
  add_executable(ingot_generate ${generate_sources})
  target_link_libraries(ingot_generate PRIVATE ingot_base)
  file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/ingot/*.hpp)
  set(table ${PROJECT_SOURCE_DIR}/data/aten_schemas.tsv)
  set(INGOT_GENERATED_SOURCES "")
  foreach(k RANGE 7)
    list(APPEND INGOT_GENERATED_SOURCES ${PROJECT_BINARY_DIR}/generated/ops_${k}.cpp)
  endforeach()
  set(generated_headers ${PROJECT_BINARY_DIR}/include/ingot/ops.hpp ${PROJECT_BINARY_DIR}/include/ingot/tensor_methods.hpp)
  add_custom_command(
    OUTPUT ${INGOT_GENERATED_SOURCES} ${generated_headers} ${PROJECT_BINARY_DIR}/generated/functions.tsv
    COMMAND ingot_generate ${table} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}
    DEPENDS ingot_generate ${table} ${public_headers}
    COMMENT "Writing C++ functions for the ops of data/aten_schemas.tsv"
    VERBATIM)
  add_custom_target(ingot_generated DEPENDS ${generated_headers})
endmacro()

# ingot_generated_functions(AS target): the library ingot_functions of those sources, compiled as
# the target is. It is for programs that write ops as functions: Ingot itself names ops
# (op/call.hpp), and `ingot` is built without waiting for three thousand of them.
function(ingot_generated_functions as target)
  add_library(ingot_functions STATIC ${INGOT_GENERATED_SOURCES})
  target_link_libraries(ingot_functions PUBLIC ${target})
  ingot_optimize(functions ${INGOT_LIGHT})
  ingot_precompile(ingot_functions AS ${target})
endfunction()
