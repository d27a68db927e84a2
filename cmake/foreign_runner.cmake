# ingot_foreign_runner(TARGET SOURCE): the C program SOURCE for the architecture this machine is not, by Debian's cross
# compiler; the tests of TARGET run it under qemu and find it as INGOT_FOREIGN_RUNNER.
function(ingot_foreign_runner target source)
  if(NOT TARGET ${target})
    return()
  endif()
  set(arch aarch64)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    set(arch x86_64)
  endif()
  get_filename_component(name ${source} NAME_WE)
  set(program ${PROJECT_BINARY_DIR}/${name}_${arch})
  target_compile_definitions(${target} PRIVATE INGOT_FOREIGN_RUNNER="${program}")
  find_program(INGOT_CC_${arch} ${arch}-linux-gnu-gcc)
  if(NOT INGOT_CC_${arch})
    return()  # the tests say that it is missing
  endif()
  add_custom_command(
    OUTPUT ${program}
    COMMAND ${INGOT_CC_${arch}} -std=c11 -D_DEFAULT_SOURCE -O1 -Wall -Wextra -I${PROJECT_SOURCE_DIR}/src
            ${PROJECT_SOURCE_DIR}/${source} -o ${program} -ldl
    DEPENDS ${PROJECT_SOURCE_DIR}/${source}
    COMMENT "Compiling ${source} for ${arch}"
    VERBATIM)
  add_custom_target(ingot_${name} DEPENDS ${program})
  add_dependencies(${target} ingot_${name})
endfunction()
