# Target kernels: kernels/*.cu in a static library with the static CUDA runtime, which opens the
# driver only when first called, so the binary starts on hosts without any NVIDIA library.
# Without nvcc it is header-only: the host side of the element-wise functions stays testable.

if(NOT CLUSTERBENCH_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "CLUSTERBENCH_CUDA=${CLUSTERBENCH_CUDA}: expected AUTO, ON or OFF")
endif()

set(CLUSTERBENCH_CUDA_VERSION "")
if(NOT CLUSTERBENCH_CUDA STREQUAL OFF)
  # check_language looks only in PATH; the toolkit's own directory is usually not in it.
  find_program(CLUSTERBENCH_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda
               PATH_SUFFIXES bin)
  if(CLUSTERBENCH_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${CLUSTERBENCH_NVCC})
  endif()
  if(CMAKE_CUDA_COMPILER AND CLUSTERBENCH_CUDA STREQUAL AUTO)
    # A toolkit that cannot compile (host compiler too new) must not break an AUTO build.
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} -c ${PROJECT_SOURCE_DIR}/kernels/fill_verify.cu
                            -I${PROJECT_SOURCE_DIR} -std=c++17 -o ${PROJECT_BINARY_DIR}/nvcc_probe.o
                    RESULT_VARIABLE nvcc_failed OUTPUT_VARIABLE nvcc_words ERROR_VARIABLE nvcc_words)
    if(nvcc_failed)
      message(WARNING "${CMAKE_CUDA_COMPILER} cannot compile kernels/fill_verify.cu; going on without CUDA. "
                      "It said (${nvcc_failed}):\n${nvcc_words}")
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER AND NOT nvcc_failed)
    # Ampere, Ada, Hopper and Blackwell as far as this nvcc knows them, and PTX for what comes later.
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known)
    foreach(arch 80 86 89 90 100 103 120)
      if(known MATCHES "compute_${arch}[^0-9]")
        list(APPEND architectures ${arch}-real)
        set(newest ${arch})
      endif()
    endforeach()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES ${architectures} ${newest}-virtual)
    endif()
    enable_language(CUDA)
    set(CLUSTERBENCH_CUDA_VERSION ${CMAKE_CUDA_COMPILER_VERSION})
  elseif(CLUSTERBENCH_CUDA STREQUAL ON)
    message(FATAL_ERROR "CLUSTERBENCH_CUDA=ON but nvcc was not found. Put it in PATH, set CUDACXX "
                        "or CUDA_HOME, or configure with -DCLUSTERBENCH_CUDA=AUTO.")
  endif()
endif()

if(CLUSTERBENCH_CUDA_MODULES AND NOT CLUSTERBENCH_CUDA_VERSION)
  message(WARNING "CLUSTERBENCH_CUDA_MODULES=ON without nvcc: no module is built, and the program has no GPU cases")
  set(CLUSTERBENCH_CUDA_MODULES OFF)
endif()
if(CLUSTERBENCH_CUDA_VERSION)
  file(GLOB kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cu)
  # Program and module are of the same kernels, or the program refuses the module.
  file(GLOB digested CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*)
  set(digests "")
  foreach(file ${digested})
    file(SHA256 ${file} digest)
    string(APPEND digests ${digest})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${digested})
  string(SHA256 cb_kernel_digest "${digests}")
  string(SUBSTRING ${cb_kernel_digest} 0 16 cb_kernel_digest)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/sys/gpu/cuda/modules/library.cpp PROPERTIES
                              COMPILE_DEFINITIONS "CB_MODULE_SOURCES=\"${cb_kernel_digest}\"")
endif()
if(CLUSTERBENCH_CUDA_MODULES)
  add_library(kernels INTERFACE)
  target_include_directories(kernels INTERFACE ${PROJECT_SOURCE_DIR})
  include(ci/cmake/cuda_modules.cmake)
elseif(CLUSTERBENCH_CUDA_VERSION)
  add_library(kernels STATIC ${kernel_sources})
  set_target_properties(kernels PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
                                           UNITY_BUILD OFF) # from CMake 3.31 on unity would join .cu files too
  target_include_directories(kernels PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(kernels PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  message(STATUS "CUDA kernels: yes, nvcc ${CLUSTERBENCH_CUDA_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  add_library(kernels INTERFACE)
  target_include_directories(kernels INTERFACE ${PROJECT_SOURCE_DIR})
  message(STATUS "CUDA kernels: no (CLUSTERBENCH_CUDA=${CLUSTERBENCH_CUDA})")
endif()
