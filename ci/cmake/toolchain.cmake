# Compiler flags, ccache, mold and sanitizers. Defines the INTERFACE target cb_flags.

add_library(cb_flags INTERFACE)
target_include_directories(cb_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
# Designated initialisers leave out members that have their default on purpose.
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
             -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND warnings -Wno-restrict) # false alarm on "x" + std::string (GCC bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND (CLUSTERBENCH_SANITIZE OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13))
  # False alarms: on instrumented code (GCC bug 105562), and from 13 on where a variant or an optional is moved.
  list(APPEND warnings -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND warnings -Wno-sign-conversion) # not in gcc's -Wconversion
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(TRANSFORM warnings REPLACE "^-Wshadow$" -Wshadow=local) # a neighbouring file's helper may have that name
endif()
if(CLUSTERBENCH_WERROR)
  list(APPEND warnings -Werror)
endif()
target_compile_options(cb_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")

# No -march: the binary must start on any host of its architecture; hot loops use target attributes.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

# Paths relative to the source tree, so that a second clone is served from the first one's cache.
# The wrapper must be called ccache: clang-tidy skips a launcher of that name.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher ${PROJECT_BINARY_DIR}/ccache)
  file(CONFIGURE OUTPUT ${launcher} @ONLY CONTENT [[#!/bin/sh
CCACHE_BASEDIR='@PROJECT_SOURCE_DIR@' CCACHE_NOHASHDIR=1 exec '@CCACHE_PROGRAM@' "$@"
]])
  file(CHMOD ${launcher} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                     WORLD_READ WORLD_EXECUTE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# For code that is half of the compile time and runs once: CLI11's templates, the tests' assertions.
set(cb_optimise_little -O1)
if(CLUSTERBENCH_SANITIZE)
  set(cb_optimise_little -O0)
endif()

# mold only where warnings are errors (dev, ci, asan): a release uses the distribution's linker.
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND CLUSTERBENCH_WERROR)
  add_link_options(-fuse-ld=mold)
endif()

if(CLUSTERBENCH_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${CLUSTERBENCH_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${CLUSTERBENCH_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # A library opened at run time is called by types of our own, which it cannot share.
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=function>)
  endif()
endif()
if(CLUSTERBENCH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "CLUSTERBENCH_FUZZ=ON needs clang (this is ${CMAKE_CXX_COMPILER_ID}): "
                        "use `cmake --preset fuzz`")
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=fuzzer-no-link>)
endif()
