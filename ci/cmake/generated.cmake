# Sources of cb_core that are made while building: build_info.cpp and embedded.cpp.
set(generated ${PROJECT_BINARY_DIR}/generated)

# The commit may change without CMake noticing, so the script runs in every build; it rewrites the
# file, and so causes a compile, only when the content changed.
set(cuda_text ${CLUSTERBENCH_CUDA_VERSION})
if(CLUSTERBENCH_CUDA_MODULES)
  set(cuda_text modules)
endif()
add_custom_target(cb_build_info
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${generated}/build_info.cpp
          -DVERSION=${PROJECT_VERSION} "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          -DBUILD_TYPE=$<CONFIG> -DCUDA=${cuda_text} -DSANITIZE=${CLUSTERBENCH_SANITIZE}
          -P ${PROJECT_SOURCE_DIR}/ci/cmake/build_info.cmake
  BYPRODUCTS ${generated}/build_info.cpp
  COMMENT "Recording version and commit" VERBATIM)

# profiles/ and templates/ go into the binary, so that the bare file works alone.
file(GLOB_RECURSE embedded CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/profiles/*.json ${PROJECT_SOURCE_DIR}/templates/*)
list(FILTER embedded EXCLUDE REGEX "(^|/)\\.") # editors' and git's dot files
set(embedded_paths ${embedded})
list(TRANSFORM embedded_paths PREPEND ${PROJECT_SOURCE_DIR}/)
add_custom_command(OUTPUT ${generated}/embedded.cpp
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} "-DFILES=${embedded}"
          -DOUT=${generated}/embedded.cpp -P ${PROJECT_SOURCE_DIR}/ci/cmake/embed.cmake
  DEPENDS ${embedded_paths} ${PROJECT_SOURCE_DIR}/ci/cmake/embed.cmake
          ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "Embedding profiles and templates" VERBATIM)

# Alone: each commit changes the one, each template the other.
set_source_files_properties(${generated}/build_info.cpp ${generated}/embedded.cpp PROPERTIES
                            SKIP_UNITY_BUILD_INCLUSION ON)
target_sources(cb_core PRIVATE ${generated}/build_info.cpp ${generated}/embedded.cpp)
add_dependencies(cb_core cb_build_info)
