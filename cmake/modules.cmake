# module(NAME FILES a.cc b.cc NEEDS other modules [LINKS cmake targets])
#
# One line per folder of src/: its translation units, the modules whose headers it may include, and the outside
# libraries it links. `tools/tidy` reads the same lines, so the drawing, the build and the check are one thing.
function(module name)
  cmake_parse_arguments(ARG "" "" "FILES;NEEDS;LINKS" ${ARGN})
  string(REPLACE "/" "_" target "baton_${name}")
  list(TRANSFORM ARG_FILES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/${name}/")
  set(needs "")
  foreach(need ${ARG_NEEDS})
    string(REPLACE "/" "_" need_target "baton_${need}")
    list(APPEND needs ${need_target})
  endforeach()
  # Object libraries: every module can be a part of libbaton, of the binaries and of the tests without being built twice.
  if(ARG_FILES)
    add_library(${target} OBJECT ${ARG_FILES})
    target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${needs} ${ARG_LINKS} baton_warnings)
    precompiled(${target} ${precompiled_by})
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${needs} ${ARG_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY BATON_MODULES ${target})
endfunction()

# precompiled(TARGET BY [headers]): TARGET reads the headers below, and `headers`, as BY has compiled them; BY does so itself. Who
# shares has the same flags and definitions. None of our own headers: a change of one would compile everything again. No
# <filesystem> where no files are read: it brings std::quoted, which is then found before a `quoted` of ours.
#
# Only clang, so that no file comes to lean on it: g++ reads every header where it is included, and finds the missing one.
# (And g++ 12, once headers are precompiled, warns of standard ones as if they were ours.)
set(standard_headers
  <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstddef> <cstdint> <cstdio> <cstring> <deque>
  <fstream> <functional> <limits> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view>
  <thread> <tl/expected.hpp> <tuple> <unordered_map> <utility> <variant> <vector>)
function(precompiled target by)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  if(target STREQUAL by)
    target_precompile_headers(${target} PRIVATE ${standard_headers} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${by})
  endif()
endfunction()

add_library(baton_warnings INTERFACE)
target_compile_options(baton_warnings INTERFACE -Wall -Wextra -Werror)
# g++ 12 sees overlapping copies in `"text" + std::string` at -O3 where there are none (GCC bug 105651).
target_compile_options(baton_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# No path of the machine that built it in a binary: CHECK names its file relative to the source folder.
target_compile_options(baton_warnings INTERFACE -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
# A precompiled header is the same file whenever it was made, so that the compiler's cache knows it again.
target_compile_options(baton_warnings INTERFACE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
