# The eager library as a static archive for every target, lib/libingot_eager_ARCH.a: what a model is linked with where it
# calls ops that have no machine code of their own (src/eager). The C++ runtime of the target is in it, so that such a
# model needs libc and libm alone, as every other does.

# Hidden, and each function a section: a model gets what its calls reach, and exports its C interface only.
set(eager_flags
  -std=c++20 -DNDEBUG -Wall -Wextra -fPIC -fvisibility=hidden -fvisibility-inlines-hidden
  -ffunction-sections -fdata-sections -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include)
set(eager_flags_x86_64 "")
set(eager_flags_aarch64 -mno-outline-atomics)
# What handles elements is fast, what handles calls is small. In tensor/ and ops/ the former has loops over a type, or formulas.
set(eager_parts tensor ops base expr op eager)
set(eager_fast_parts)
set(eager_mixed_parts tensor ops)
set(eager_handles_elements "class [ST]>|template <class|formula")
set(eager_flags_fast -O2)
set(eager_flags_small -Os)

# What the archive has in a form of its own (src/eager), or no use for: symbolic sizes, the registry, the table of schemas,
# gradients, vmap, functions as arguments, traces, caches, tensors of other classes.
set(eager_without
  base/build_id.cpp base/number_text.cpp base/parallel.cpp base/sha256.cpp expr/int.cpp expr/float.cpp tensor/dlpack.cpp tensor/random.cpp tensor/stand_in.cpp op/aten_table.cpp op/batching.cpp op/program_acts.cpp op/registry.cpp op/wrapper.*
  ops/batch/ ops/families.cpp ops/higher_order/ ops/sparse/sparse_tensor.cpp eager/family.cpp)
string(REPLACE ";" "|" eager_without "^(${eager_without})")

function(ingot_eager_archive arch)
  set(archive ${INGOT_KERNEL_DIR}/libingot_eager_${arch}.a)
  set(folder ${PROJECT_BINARY_DIR}/eager/${arch})
  set(flags ${eager_flags})
  if(compiler_${arch} STREQUAL CMAKE_CXX_COMPILER AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    list(APPEND flags ${INGOT_CLANG_FLAGS})
    set(eager_flags_small -Oz)  # what -Os is to g++
  else()
    list(APPEND flags -fno-gnu-unique --param=ggc-min-heapsize=524288)
  endif()
  set(sources_fast "")
  set(sources_small "")
  foreach(part IN LISTS eager_parts)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/${part}/*.cpp
                                               ${PROJECT_SOURCE_DIR}/src/${part}/*/*.cpp)
    list(FILTER found EXCLUDE REGEX "${eager_without}")
    foreach(source IN LISTS found)
      get_filename_component(source_folder ${source} DIRECTORY)
      file(MAKE_DIRECTORY ${folder}/${source_folder})
      file(STRINGS ${PROJECT_SOURCE_DIR}/src/${source} handles_elements REGEX "${eager_handles_elements}")
      set(kind small)
      if(part IN_LIST eager_fast_parts OR (part IN_LIST eager_mixed_parts AND handles_elements))
        set(kind fast)
      endif()
      list(APPEND sources_${kind} ${source})
    endforeach()
  endforeach()
  set(objects "")
  foreach(kind IN ITEMS fast small)
    # archive.hpp, and what nearly every source includes, read once.
    set(header ${folder}/${kind}.hpp)
    file(CONFIGURE OUTPUT ${header} CONTENT "#include \"eager/archive.hpp\"\n#include \"ingot/ingot.hpp\"\n#include \"op/kernel.hpp\"\n" @ONLY)
    set(command ${INGOT_CCACHE} ${compiler_${arch}} ${flags} ${eager_flags_${arch}} ${eager_flags_${kind}})
    add_custom_command(
      OUTPUT ${header}.gch
      COMMAND ${command} -MD -MF ${header}.d -x c++-header -c ${header} -o ${header}.gch
      DEPENDS ${header}
      DEPFILE ${header}.d
      COMMENT "Precompiling headers for models of ${arch}"
      VERBATIM)
    foreach(source IN LISTS sources_${kind})
      set(path ${PROJECT_SOURCE_DIR}/src/${source})
      string(REGEX REPLACE "\\.cpp$" ".o" object ${folder}/${source})
      # A file that defines ops is compiled through family.cpp.
      file(STRINGS ${path} defines_ops REGEX "OpDef kOps\\[\\]")
      set(compiled ${path})
      if(defines_ops)
        set(compiled "-DINGOT_FAMILY=\"${source}\"" ${PROJECT_SOURCE_DIR}/src/eager/family.cpp)
      endif()
      add_custom_command(
        OUTPUT ${object}
        COMMAND ${command} -include ${header} -MD -MF ${object}.d -c ${compiled} -o ${object}
        DEPENDS ${path} ${header}.gch
        DEPFILE ${object}.d
        COMMENT "Compiling ${source} for models of ${arch}"
        VERBATIM)
      list(APPEND objects ${object})
    endforeach()
  endforeach()

  set(script "CREATE ${archive}\n")
  foreach(library IN ITEMS libstdc++.a libgcc.a libgcc_eh.a)
    execute_process(COMMAND ${compiler_${arch}} -print-file-name=${library} OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND script "ADDLIB ${file}\n")
  endforeach()
  string(APPEND script "DELETE eh_term_handler.o\n")  # cxx_runtime.cpp defines it; which ar put first in the archive would win
  foreach(object IN LISTS objects)
    string(APPEND script "ADDMOD ${object}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/archive.mri CONTENT "${script}SAVE\nEND\n" @ONLY)  # touched only if it changes
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${ar_${arch}} -M < ${folder}/archive.mri
    DEPENDS ${objects} ${folder}/archive.mri
    COMMENT "Archiving the eager library for models of ${arch}"
    VERBATIM)
endfunction()

# The target ingot_eager_archives: for both targets.
function(ingot_eager_archives)
  set(files "")
  foreach(arch IN ITEMS x86_64 aarch64)
    ingot_find_compiler(${arch})
    ingot_eager_archive(${arch})
    list(APPEND files ${INGOT_KERNEL_DIR}/libingot_eager_${arch}.a)
  endforeach()
  add_custom_target(ingot_eager_archives ALL DEPENDS ${files})
  install(FILES ${files} DESTINATION lib/ingot)
endfunction()

# ingot_eager_harness(TARGET): tests/eager/harness.c for both targets; the tests of TARGET find it as INGOT_EAGER_HARNESS, to
# which the architecture and ".o" are added.
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
      COMMAND ${compiler_${arch}} -x c -std=c11 -D_DEFAULT_SOURCE -O1 -Wall -Wextra -fPIC -fvisibility=hidden
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
