# Read by ctest itself, not by the configure step: one test for each suite of the gtest executable
# `program`; a suite of many cases is cut into shards, so that one big table does not keep a single
# core busy while the others wait.
set(cases_a_shard 100)
# Seconds of those that take long, so that they start first: ctest itself knows them from the second
# run on.
set(cost_of_cli/CompiledGolden 150)
set(cost_of_cli/CompiledGoldenElsewhere 54)
set(cost_of_e2e/CompiledRandom 20)
set(cost_of_unit/AutogradDeep 19)
set(cost_of_unit/KernelsGemm/3 18)
set(cost_of_unit/Pt2Mutants 17)
set(cost_of_e2e/Sums/CompiledAccuracy 17)
set(cost_of_unit/AotRandom 14)

if(NOT EXISTS "${program}")
  add_test(${folder}/not_built /bin/sh -c "echo '${program} is not built'; exit 1")
  return()
endif()
execute_process(COMMAND "${program}" --gtest_list_tests WORKING_DIRECTORY "${work_dir}"
                OUTPUT_VARIABLE listing RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  add_test(${folder}/cannot_list "${program}" --gtest_list_tests)
  return()
endif()

# The listing has a suite a line ("Inst/Suite/0.  # TypeParam = float"), followed by its cases,
# indented by two.
string(REGEX REPLACE "[][;]" "_" listing "${listing}")  # characters that cut CMake lists; they are only in comments
string(REPLACE "\n" ";" lines "${listing}")
set(suites "")
foreach(line IN LISTS lines)
  if(line MATCHES "^  ")
    math(EXPR cases_${suite} "${cases_${suite}} + 1")
  elseif(line MATCHES "^([^ ]+)[.]( |$)")
    set(suite "${CMAKE_MATCH_1}")
    set(cases_${suite} 0)
    list(APPEND suites "${suite}")
  endif()
endforeach()

foreach(suite IN LISTS suites)
  math(EXPR shards "(${cases_${suite}} + ${cases_a_shard} - 1) / ${cases_a_shard}")
  math(EXPR last "${shards} - 1")
  set(cost 0)
  if(DEFINED "cost_of_${folder}/${suite}")
    set(cost ${cost_of_${folder}/${suite}})
  endif()
  foreach(shard RANGE ${last})
    set(name "${folder}/${suite}")
    if(shards GREATER 1)
      math(EXPR number "${shard} + 1")
      string(APPEND name ":${number}of${shards}")
    endif()
    add_test("${name}" "${program}" "--gtest_filter=${suite}.*" --gtest_brief=1)
    set_tests_properties("${name}" PROPERTIES WORKING_DIRECTORY "${work_dir}" TIMEOUT 1200
      COST "${cost}" ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endforeach()
