# SPDX-License-Identifier: Apache-2.0
# Flags and output folders, carried by one interface target so that nothing is global.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

add_library(w4_flags INTERFACE)
target_include_directories(w4_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(
  w4_flags
  INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-ffp-contract=off>
            $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>
            $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<BOOL:${W4_WERROR}>>:-Werror>)
# g++ 12 drops a conditional bf16 truncation at -O1 and above unless this pass is off (harness/decisions/0002), and its
# -Wrestrict sees overlaps in "literal" + std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(w4_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-tree-ter;-Wno-restrict>)
endif()

# w4_add_plugin(cpu SOURCES ...): a MODULE libw4_<name>.so that exports w4_plugin_entry and nothing else.
function(w4_add_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_library(w4_kernels_${name} MODULE ${arg_SOURCES})
  target_link_libraries(w4_kernels_${name} PRIVATE w4_flags w4::abi)
  set_target_properties(w4_kernels_${name} PROPERTIES OUTPUT_NAME w4_${name} C_VISIBILITY_PRESET hidden
                                                      CXX_VISIBILITY_PRESET hidden)
endfunction()
