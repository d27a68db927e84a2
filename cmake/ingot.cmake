# The kinds of target this project has: libraries, tests, benchmarks.

# ingot_library(NAME [FROM folder] [IN_FOLDERS] [USES lib...] [HIDES lib...] [ALONE pattern...])
# The static library ingot_NAME of src/NAME/*.cpp, and of src/NAME/*/*.cpp if its sources lie
# IN_FOLDERS. USES is seen by whoever uses it, HIDES only by its own sources. FROM: the folder,
# where it is not called as the library is. The sources PATTERN.cpp are not compiled in batches. A
# folder with headers alone, or not there yet, becomes an interface library.
function(ingot_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "IN_FOLDERS" "FROM" "USES;HIDES;ALONE")
  set(target ingot_${name})
  if(NOT arg_FROM)
    set(arg_FROM ${name})
  endif()
  set(patterns ${PROJECT_SOURCE_DIR}/src/${arg_FROM}/*.cpp)
  if(arg_IN_FOLDERS)
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/src/${arg_FROM}/*/*.cpp)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(sources)
    add_library(${target} STATIC ${sources})
    ingot_batch(${target} ${PROJECT_SOURCE_DIR}/src/${arg_FROM}/ .cpp ${arg_ALONE})
    target_link_libraries(${target} PUBLIC ${arg_USES} PRIVATE ${arg_HIDES})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${INGOT_INCLUDE})
    if(TARGET ingot_generated)
      add_dependencies(${target} ingot_generated)
    endif()
    set(used ${arg_USES})
    list(FILTER used INCLUDE REGEX "^ingot_")
    list(TRANSFORM used REPLACE "^ingot_" "")
    list(JOIN used " " used)
    set_property(GLOBAL APPEND_STRING PROPERTY ingot_layers "${name} ${used}\n")
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_USES})
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/src ${INGOT_INCLUDE})
  endif()
endfunction()

# ingot_list_layers(): layers.txt of the build folder, a line for each library and what it uses, for
# scripts/check_links.sh.
function(ingot_list_layers)
  get_property(layers GLOBAL PROPERTY ingot_layers)
  file(WRITE ${PROJECT_BINARY_DIR}/layers.txt "${layers}")
endfunction()

# ingot_optimize(NAME flag...): flags for the sources of ingot_NAME in a release build.
function(ingot_optimize name)
  get_target_property(type ingot_${name} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    target_compile_options(ingot_${name} PRIVATE $<$<CONFIG:Release>:${ARGN}>)
  endif()
endfunction()

# ingot_precompile(TARGET header...): headers that the sources of the target share are read once.
# Not in the preset debug, where a source that forgets an include is noticed.
# ingot_precompile(TARGET AS OTHER): those of the other target, compiled for it.
function(ingot_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "AS" "")
  if(NOT INGOT_PRECOMPILE)
    return()
  endif()
  if(arg_AS)
    target_precompile_headers(${target} REUSE_FROM ${arg_AS})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# ingot_check_precompiled(): the tests whose precompiled headers others reuse define nothing that
# those do not: compilers refuse the headers then, though one with a full cache may not notice.
function(ingot_check_precompiled)
  get_property(target GLOBAL PROPERTY ingot_first_tests)
  get_target_property(definitions ${target} COMPILE_DEFINITIONS)
  list(FILTER definitions EXCLUDE REGEX "^INGOT_TEST_DATA=")
  if(definitions)
    message(FATAL_ERROR "${target} defines ${definitions}, and other tests reuse its precompiled headers: "
                        "define it for the source that needs it (set_source_files_properties)")
  endif()
endfunction()

# ingot_test_support([USES lib...]): the library ingot_test_support of tests/support/*.cpp, what
# tests share.
function(ingot_test_support)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "USES")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
  list(FILTER sources EXCLUDE REGEX verify_in_tests)  # the programs' own
  if(sources)
    add_library(ingot_test_support STATIC ${sources})
    # The two that have expectations are for programs that link GoogleTest.
    ingot_batch(ingot_test_support ${PROJECT_SOURCE_DIR}/tests/support/ .cpp aot_harness transform_nestings)
    target_include_directories(ingot_test_support PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(ingot_test_support PUBLIC ${arg_USES})
    ingot_optimize(test_support ${INGOT_LIGHT})
  else()
    add_library(ingot_test_support INTERFACE)
  endif()
endfunction()

# ingot_batch(TARGET PREFIX SUFFIX [PATTERN...]): eight sources are compiled as one, which takes
# half the time: what they share of templates is compiled once. Names in their anonymous namespaces
# must differ then; the sources PREFIX PATTERN SUFFIX, whose names do not, or of which one is enough
# for a compiler, are left alone. Not in the preset debug.
function(ingot_batch target prefix suffix)
  if(NOT INGOT_PRECOMPILE)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # a batch takes its sources for headers
  endif()
  if(ARGN)
    list(TRANSFORM ARGN REPLACE "(.+)" "${prefix}\\1${suffix}")
    file(GLOB alone CONFIGURE_DEPENDS ${ARGN})
    set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# ingot_tests(FOLDER [USES lib...] [NEEDS target...] [ALONE pattern...])
# The executable ingot_FOLDER_tests of tests/FOLDER/*_test.cpp. ctest asks it for its suites when it
# starts and runs each one as a test of its own, so all cores are used and nothing has to be
# registered. NEEDS is built first. The sources PATTERN_test.cpp are not compiled in batches.
function(ingot_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;NEEDS;ALONE")
  set(target ingot_${folder}_tests)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${target} ${sources} ${PROJECT_SOURCE_DIR}/tests/support/verify_in_tests.cpp)
  target_link_libraries(${target} PRIVATE ingot_test_support ${arg_USES} GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE INGOT_TEST_DATA="${INGOT_SOURCE_AT}/tests/data")
  # What is tested was compiled in src/: the tests themselves are read once, and worth little of a
  # compiler's time.
  target_compile_options(${target} PRIVATE -O0)
  ingot_batch(${target} ${PROJECT_SOURCE_DIR}/tests/${folder}/ _test.cpp ${arg_ALONE})
  get_property(first GLOBAL PROPERTY ingot_first_tests)
  if(first)
    ingot_precompile(${target} AS ${first})
  else()
    ingot_precompile(${target} <gtest/gtest.h> <base/error.hpp> <graph/graph.hpp> <ingot/ingot.hpp> <op/call.hpp>)
    set_property(GLOBAL PROPERTY ingot_first_tests ${target})
    cmake_language(DEFER CALL ingot_check_precompiled)
  endif()
  if(arg_NEEDS)
    add_dependencies(${target} ${arg_NEEDS})
  endif()

  set(script ${PROJECT_BINARY_DIR}/${folder}_suites.cmake)
  file(WRITE ${script}.in "set(folder ${folder})\nset(program \"$<TARGET_FILE:${target}>\")\n"
                          "set(work_dir \"${PROJECT_SOURCE_DIR}\")\ninclude(\"${PROJECT_SOURCE_DIR}/cmake/suites.cmake\")\n")
  file(GENERATE OUTPUT ${script} INPUT ${script}.in)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

# ingot_golden(NAME...): the target ingot_golden_NAME unpacks tests/golden/NAME.tar.xz into golden/
# of the build folder, and ingot_golden does all of them.
function(ingot_golden)
  add_custom_target(ingot_golden ALL)
  foreach(name ${ARGN})
    set(archive ${PROJECT_SOURCE_DIR}/tests/golden/${name}.tar.xz)
    set(stamp ${PROJECT_BINARY_DIR}/golden/${name}.stamp)
    add_custom_command(OUTPUT ${stamp} DEPENDS ${archive} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/golden
                       COMMAND ${CMAKE_COMMAND} -E tar xJf ${archive} COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
                       COMMENT "Unpacking the golden ${name} cases")
    add_custom_target(ingot_golden_${name} DEPENDS ${stamp})
    add_dependencies(ingot_golden ingot_golden_${name})
  endforeach()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/golden)
endfunction()

# ingot_benchmarks([USES lib...]): the executable ingot_bench of bench/*.cpp.
function(ingot_benchmarks)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "USES")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
  if(NOT sources)
    return()
  endif()
  find_package(benchmark REQUIRED)
  add_executable(ingot_bench ${sources})
  target_include_directories(ingot_bench PRIVATE ${PROJECT_SOURCE_DIR}/tests)  # programs that tests and benchmarks share
  target_link_libraries(ingot_bench PRIVATE ${arg_USES} benchmark::benchmark_main)
endfunction()
