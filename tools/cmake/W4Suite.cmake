# SPDX-License-Identifier: Apache-2.0
# w4_add_suite(pack SOURCES a_test.cpp ... LIBS w4_reference ... LABEL cpu): one ctest entry per test case. Exactly one
# label each: with two, catch_discover_tests drops the skip code and a skip turns into a failure.
include(Catch)
function(w4_add_suite name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL cpu)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(w4_suite_${name} ${arg_SOURCES})
  target_link_libraries(w4_suite_${name} PRIVATE w4_flags ${arg_LIBS} w4_suite_support Catch2::Catch2WithMain)
  set_target_properties(w4_suite_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/suites)
  target_compile_definitions(w4_suite_${name} PRIVATE W4_FIXTURES="${PROJECT_SOURCE_DIR}/fixtures"
                                                      W4_BINARY_DIR="${PROJECT_BINARY_DIR}")
  catch_discover_tests(
    w4_suite_${name}
    TEST_PREFIX "${name}: "
    EXTRA_ARGS --warn NoAssertions
    DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 4)
endfunction()
