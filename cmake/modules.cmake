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
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${needs} ${ARG_LINKS})
  endif()
  set_property(GLOBAL APPEND PROPERTY BATON_MODULES ${target})
endfunction()

add_library(baton_warnings INTERFACE)
target_compile_options(baton_warnings INTERFACE -Wall -Wextra -Werror)
# g++ 12 sees overlapping copies in `"text" + std::string` at -O3 where there are none (GCC bug 105651).
target_compile_options(baton_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# No path of the machine that built it in a binary: CHECK names its file relative to the source folder.
target_compile_options(baton_warnings INTERFACE -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
