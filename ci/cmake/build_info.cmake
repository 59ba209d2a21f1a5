# Writes OUT, the definition of core/build_info.h, only when its content changes.
# In: SOURCE VERSION COMPILER BUILD_TYPE CUDA SANITIZE. Works outside git: the commit is "unknown".

set(COMMIT unknown)
set(DIRTY false)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --show-toplevel HEAD
                  OUTPUT_VARIABLE head ERROR_QUIET RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" head "${head}")
  list(LENGTH head parts)
  file(REAL_PATH ${SOURCE} source)
  # A source archive unpacked inside somebody else's checkout must not take that commit.
  if(NOT failed AND parts EQUAL 2)
    list(GET head 0 top)
    if(top STREQUAL source)
      list(GET head 1 COMMIT)
      execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE} status --porcelain
                              --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
      if(changes)
        set(DIRTY true)
      endif()
    endif()
  endif()
endif()

foreach(name CUDA SANITIZE)
  if("${${name}}" STREQUAL "")
    set(${name} none)
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in ${OUT} @ONLY)
