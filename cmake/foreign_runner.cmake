# ingot_model_runners(TARGET SOURCE): the C program SOURCE for both architectures, this machine's by
# its own compiler and the other's by Debian's cross compiler. The tests of TARGET find them as
# INGOT_MODEL_RUNNER and INGOT_FOREIGN_RUNNER, and run the latter under qemu. Several targets may
# share a source.
function(ingot_model_runners target source)
  if(NOT TARGET ${target})
    return()
  endif()
  get_filename_component(name ${source} NAME_WE)
  set(programs "")
  foreach(arch IN ITEMS x86_64 aarch64)
    set(program ${PROJECT_BINARY_DIR}/${name}_${arch})
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL ${arch})
      set(compiler ${CMAKE_C_COMPILER})
      target_compile_definitions(${target} PRIVATE INGOT_MODEL_RUNNER="${INGOT_BUILD_AT}/${name}_${arch}")
    else()
      target_compile_definitions(${target} PRIVATE INGOT_FOREIGN_RUNNER="${INGOT_BUILD_AT}/${name}_${arch}")
      find_program(INGOT_CC_${arch} ${arch}-linux-gnu-gcc)
      if(NOT INGOT_CC_${arch})
        continue()  # the tests say that it is missing
      endif()
      set(compiler ${INGOT_CC_${arch}})
    endif()
    list(APPEND programs ${program})
    if(TARGET ingot_${name})
      continue()  # made for another target already
    endif()
    add_custom_command(
      OUTPUT ${program}
      COMMAND ${compiler} -std=c11 -D_DEFAULT_SOURCE -O1 ${INGOT_WARNINGS} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/src
              ${PROJECT_SOURCE_DIR}/${source}
              -o ${program} -ldl
      DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${PROJECT_SOURCE_DIR}/include/ingot/model.h ${PROJECT_SOURCE_DIR}/include/ingot/aoti.h
      COMMENT "Compiling ${source} for ${arch}"
      VERBATIM)
  endforeach()
  if(NOT TARGET ingot_${name})
    add_custom_target(ingot_${name} DEPENDS ${programs})
  endif()
  add_dependencies(${target} ingot_${name})
endfunction()
