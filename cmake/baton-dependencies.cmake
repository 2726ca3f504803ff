# The outside libraries libbaton links, as targets: used by the build and by the installed package alike. Archives are
# preferred where the distribution has them, so that a binary starts fast and stands alone.
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)

function(baton_archive target archive name header)
  if(TARGET ${target})
    return()
  endif()
  find_library(${name}_LIBRARY NAMES ${archive} ${name})
  find_path(${name}_INCLUDE ${header})
  if(NOT ${name}_LIBRARY OR NOT ${name}_INCLUDE)
    message(FATAL_ERROR "baton needs the library ${name}: ./dev setup installs it")
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE})
endfunction()

baton_archive(baton::re2 libre2.a re2 re2/re2.h)
set_property(TARGET baton::re2 PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
baton_archive(baton::utf8proc libutf8proc.a utf8proc utf8proc.h)
baton_archive(baton::yaml libyaml.a yaml yaml.h)
