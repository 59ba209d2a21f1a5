# CUDA modules (docs/design/decisions/0093-cuda-modules.md): lib/clusterbench/libclusterbench_cudaN.so, one for each toolkit that is there: that of
# nvcc, and the older one of CLUSTERBENCH_CUDA_OLD_TOOLKIT, which ci/portable/cuda.sh unpacks. CMake knows one nvcc a build, so each is called by
# a command of its own.

set(CLUSTERBENCH_CUDA_OLD_TOOLKIT ${PROJECT_SOURCE_DIR}/.cache/release/cuda11 CACHE PATH "Toolkit of the module for older drivers")
if(CLUSTERBENCH_TESTS)
  message(FATAL_ERROR "CLUSTERBENCH_CUDA_MODULES=ON needs CLUSTERBENCH_TESTS=OFF: the tests link the kernels; they have modules of their own")
endif()

set(module_places ${PROJECT_BINARY_DIR}/lib/clusterbench)
file(MAKE_DIRECTORY ${module_places})
set(module_link ${CMAKE_CXX_COMPILER} -shared -Wl,--version-script=${PROJECT_SOURCE_DIR}/kernels/module.version -Wl,--gc-sections
                -Wl,--exclude-libs,ALL -Wl,-s -Wl,-z,defs -Wl,-z,now -Wl,-z,relro)

# cb_module_object(OBJECT SOURCE COMMAND…): compiles, and again when a header has changed.
function(cb_module_object object source)
  get_filename_component(name ${source} NAME)
  file(RELATIVE_PATH in_build ${PROJECT_BINARY_DIR} ${object})
  add_custom_command(OUTPUT ${object} COMMAND ${ARGN} -MD -MF ${object}.d -I${PROJECT_SOURCE_DIR} -c ${source} -o ${in_build}
                     DEPENDS ${source} DEPFILE ${object}.d WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
                     COMMENT "Compiling ${name} as ${in_build}" VERBATIM)
endfunction()

# cb_cuda_module(TOOLKIT PTX ARCHITECTURE…): the option is for CUDA 11.8, whose nvcc knows no g++ 12. It compiles the launches; the kernels'
# machine code is nvcc's own.
function(cb_cuda_module toolkit ptx)
  set(nvcc ${toolkit}/bin/nvcc)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE words COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" release "${words}")
  set(major ${CMAKE_MATCH_1})
  set(version ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
  set(code --generate-code=arch=compute_${ptx},code=compute_${ptx})
  foreach(architecture ${ARGN})
    list(APPEND code --generate-code=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  find_file(headers_${major} cuda_runtime_api.h HINTS ${toolkit} PATH_SUFFIXES include targets/x86_64-linux/include REQUIRED NO_CACHE)
  get_filename_component(headers ${headers_${major}} DIRECTORY)
  find_library(runtime_${major} libcudart_static.a HINTS ${toolkit} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib REQUIRED NO_CACHE
               NO_DEFAULT_PATH)
  set(objects "")
  foreach(source ${kernel_sources})
    get_filename_component(name ${source} NAME_WE)
    set(object ${PROJECT_BINARY_DIR}/cuda${major}/${name}.o)
    cb_module_object(${object} ${source} ${nvcc} -ccbin ${CMAKE_CXX_COMPILER} -allow-unsupported-compiler -O3 -std=c++17 ${code} -Xcompiler=-fPIC,-fvisibility=hidden,-ffunction-sections)
    list(APPEND objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cuda${major})
  string(REPLACE ";" "," list "${ARGN}")
  set(object ${PROJECT_BINARY_DIR}/cuda${major}/module.o)
  cb_module_object(${object} ${PROJECT_SOURCE_DIR}/kernels/module.cpp ${CMAKE_CXX_COMPILER} -O2 -std=c++20 -fPIC -fvisibility=hidden
                   -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -isystem ${headers} -DCB_MODULE_ARCHITECTURES=${list} -DCB_MODULE_PTX=${ptx}
                   -DCB_MODULE_SOURCES=\"${cb_kernel_digest}\")
  set(module ${module_places}/libclusterbench_cuda${major}.so)
  add_custom_command(OUTPUT ${module} COMMAND ${module_link} -Wl,-Map,${module}.map -Wl,-soname,libclusterbench_cuda${major}.so
                             ${module_begin} ${objects} ${object} ${runtime_${major}} ${module_end} -o ${module}
                     DEPENDS ${objects} ${object} ${PROJECT_SOURCE_DIR}/kernels/module.version ${module_needs}
                     COMMENT "Linking ${module}" VERBATIM)
  add_custom_target(cuda_module_${major} ALL DEPENDS ${module})
  set_property(GLOBAL APPEND PROPERTY CB_CUDA_MODULES cuda_module_${major})
  install(FILES ${module} DESTINATION lib/clusterbench)
  set(drivers_from_11 450) # as least_driver() of src/sys/gpu/cuda_runtime.cpp
  set(drivers_from_12 525)
  set(drivers_from_13 580)
  message(STATUS "CUDA module ${version}: drivers from ${drivers_from_${major}}; machine code for ${list}, PTX for ${ptx}")
endfunction()

set(module_begin "")
set(module_end -ldl -lrt -lpthread)
set(module_needs "")
if(CLUSTERBENCH_PORTABLE_ROOT) # as ci/cmake/portable.cmake links the program
  foreach(file crti.o crtbeginS.o crtendS.o crtn.o libgcc.a libgcc_eh.a libstdc++.a ld-linux-x86-64.so.2)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${file} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(MAKE_C_IDENTIFIER "of_gcc_${file}" key)
    set(${key} ${path})
  endforeach()
  set(glibc ${CLUSTERBENCH_PORTABLE_ROOT}/glibc)
  set(module_begin -nostdlib ${of_gcc_crti_o} ${of_gcc_crtbeginS_o})
  set(module_end -Wl,--start-group $<TARGET_FILE:cb_compat> ${of_gcc_libstdc___a} ${of_gcc_libgcc_a} ${of_gcc_libgcc_eh_a} -Wl,--end-group
                 -Wl,--as-needed ${glibc}/libc.so.6 ${glibc}/libm.so.6
                 ${glibc}/libpthread.so.0 ${glibc}/libdl.so.2 ${glibc}/librt.so.1 ${glibc}/libc_nonshared.a
                 ${of_gcc_ld_linux_x86_64_so_2} # __tls_get_addr, which is of 2.3
                 ${of_gcc_crtendS_o} ${of_gcc_crtn_o})
  set(module_needs cb_compat)
endif()

set(real "")
foreach(architecture ${CMAKE_CUDA_ARCHITECTURES})
  if(architecture MATCHES "^([0-9]+)-real$")
    list(APPEND real ${CMAKE_MATCH_1})
  elseif(architecture MATCHES "^([0-9]+)-virtual$")
    set(virtual ${CMAKE_MATCH_1})
  endif()
endforeach()
if(NOT real OR NOT virtual)
  message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}: modules need N-real for each, and N-virtual for the PTX")
endif()
get_filename_component(toolkit ${CMAKE_CUDA_COMPILER} DIRECTORY)
get_filename_component(toolkit ${toolkit} DIRECTORY)
cb_cuda_module(${toolkit} ${virtual} ${real})
if(EXISTS ${CLUSTERBENCH_CUDA_OLD_TOOLKIT}/bin/nvcc)
  cb_cuda_module(${CLUSTERBENCH_CUDA_OLD_TOOLKIT} 90 80 86 89 90)
else()
  message(WARNING "No toolkit in ${CLUSTERBENCH_CUDA_OLD_TOOLKIT}: this build has no module for older drivers "
                  "(ci/portable/cuda.sh makes the toolkit, which needs a network or its two files)")
endif()
