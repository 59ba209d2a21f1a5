# Tests: doctest per room, pytest per file, fuzz corpora, lint. Labels are the folders' names.
find_package(doctest REQUIRED)
find_path(DOCTEST_INCLUDE_DIR doctest/doctest.h REQUIRED)
find_path(CLUSTERBENCH_HEADERS_open_mpi mpi.h REQUIRED NO_DEFAULT_PATH
          PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include)
find_path(CLUSTERBENCH_HEADERS_mpich mpi.h REQUIRED NO_DEFAULT_PATH
          PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich)
set(python /usr/bin/python3) # the distribution's, which has pytest and jsonschema from its packages
set(test_environment
    CLUSTERBENCH_SOURCE_DIR=${PROJECT_SOURCE_DIR} CLUSTERBENCH_BUILD_DIR=${PROJECT_BINARY_DIR}
    PYTHONDONTWRITEBYTECODE=1 CLUSTERBENCH_TEST_CASES=1 # scripted cases: docs/guide/profile.md
    # Open MPI and its libraries keep memory until exit: their leaks are listed, ours are not.
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0
    UBSAN_OPTIONS=print_stacktrace=1)

# ---- unit: one executable per room that links this room and nothing beyond it; and one for profiles/ ----
add_library(cb_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/unit/main.cpp)
target_include_directories(cb_test_main SYSTEM PUBLIC ${DOCTEST_INCLUDE_DIR})
target_link_libraries(cb_test_main PUBLIC cb_flags)
# Assertions are half of all compile time when optimised, and are run once.
target_compile_options(cb_test_main PUBLIC ${cb_optimise_little})
set(cb_unit_timeout 180) # three times what they take beside eight others on a slow host
if(CLUSTERBENCH_SANITIZE)
  target_compile_definitions(cb_test_main PUBLIC CB_SANITIZED) # compilers tell it in ways of their own
  set(cb_unit_timeout 600)
endif()
add_subdirectory(${PROJECT_SOURCE_DIR}/tests/device_executor ${PROJECT_BINARY_DIR}/device_executor)
foreach(room core sys kernels model judge import profiles campaign report bench cli)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${room}/*.cpp)
  if(room STREQUAL cli) # what gate prints is of the report's example
    list(APPEND sources ${PROJECT_SOURCE_DIR}/tests/unit/report/example_campaign.cpp)
  endif()
  if(sources)
    add_executable(unit_${room} ${sources})
    string(REGEX REPLACE "^cb_kernels$" "kernels_checked;device_executor" library cb_${room}) # the same sources, for the CPU
    string(REGEX REPLACE "^cb_profiles$" cb_judge library "${library}") # what is shipped, and what it judges
    target_link_libraries(unit_${room} PRIVATE cb_test_main ${library})
    if(room STREQUAL sys) # the constants of each MPI, read from its own header
      foreach(mpi open_mpi mpich)
        add_library(cb_test_${mpi} OBJECT ${PROJECT_SOURCE_DIR}/tests/unit/sys/mpi_headers/${mpi}.cpp)
        target_include_directories(cb_test_${mpi} SYSTEM PRIVATE ${CLUSTERBENCH_HEADERS_${mpi}})
        target_link_libraries(unit_sys PRIVATE cb_test_${mpi})
      endforeach()
    endif()
    set(shards unit.${room})
    if(room STREQUAL bench) # transfers and deadlines take their time: beside the others
      set(tcp */tcp_test.cpp)
      set(side */side_test.cpp)
      set(watchdog */watchdog_test.cpp)
      set(io */io_*_test.cpp)
      set(shards unit.bench)
      add_test(NAME unit.bench COMMAND unit_bench --source-file-exclude=${tcp},${side},${watchdog},${io})
      foreach(part tcp side watchdog io)
        add_test(NAME unit.bench_${part} COMMAND unit_bench --source-file=${${part}})
        list(APPEND shards unit.bench_${part})
      endforeach()
      # Begun first, also where ctest does not yet know how long each takes.
      set_tests_properties(${shards} PROPERTIES COST 10)
    elseif(room STREQUAL profiles) # half a minute of computing: two processes share it
      add_test(NAME unit.profiles COMMAND unit_profiles --source-file-exclude=*/profile_pairs_test.cpp)
      add_test(NAME unit.profiles_pairs COMMAND unit_profiles --source-file=*/profile_pairs_test.cpp)
      set(shards unit.profiles unit.profiles_pairs)
      set_tests_properties(${shards} PROPERTIES COST 20)
    else()
      add_test(NAME unit.${room} COMMAND unit_${room})
    endif()
    set_tests_properties(${shards} PROPERTIES LABELS unit TIMEOUT ${cb_unit_timeout}
                         ENVIRONMENT "${test_environment}")
    if(room MATCHES "^(campaign|kernels|profiles)$") # the one waits for processes, beside which others compute
      math(EXPR longer "3 * ${cb_unit_timeout}")
      set_tests_properties(${shards} PROPERTIES TIMEOUT ${longer})
    endif()
    if(room STREQUAL profiles)
      # Arithmetic on what is shipped, ten times as long with a sanitizer: unit.judge shows it the same code.
      if(CLUSTERBENCH_SANITIZE)
        set_tests_properties(${shards} PROPERTIES LABELS profiles)
      endif()
    endif()
  endif()
endforeach()

set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/unit/bench/stand_ins_test.cpp
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # it includes NVIDIA's headers
set_target_properties(unit_profiles PROPERTIES UNITY_BUILD OFF) # its files have the same words for other profiles

# The declarations of NVML are compared with NVIDIA's own header where a toolkit or a package has it.
find_path(CLUSTERBENCH_NVML_HEADER_DIR nvml.h
          HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${PROJECT_SOURCE_DIR}/.cache/nvml
                /usr/include/nvidia
          PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
if(CLUSTERBENCH_NVML_HEADER_DIR)
  target_include_directories(unit_sys SYSTEM PRIVATE ${CLUSTERBENCH_NVML_HEADER_DIR})
endif()

# ---- gpu: built wherever nvcc is; without a device they exit 77, which is a skip ----
if(CLUSTERBENCH_CUDA_VERSION)
  file(GLOB gpu_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/gpu/*_test.cu)
  foreach(source ${gpu_tests})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    add_executable(gpu_${name} ${source})
    set_target_properties(gpu_${name} PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static)
    target_link_libraries(gpu_${name} PRIVATE kernels)
    add_test(NAME gpu.${name} COMMAND gpu_${name})
    set_tests_properties(gpu.${name} PROPERTIES LABELS gpu TIMEOUT 120 SKIP_RETURN_CODE 77)
  endforeach()
endif()

# ---- what ci/gpu-check.sh compares with where there is no PyTorch ----
if(CLUSTERBENCH_CUDA_VERSION)
  add_executable(cublaslt_reference ${PROJECT_SOURCE_DIR}/tests/gpu/cublaslt_reference.cu)
  set_target_properties(cublaslt_reference PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static)
  target_link_libraries(cublaslt_reference PRIVATE kernels ${CMAKE_DL_LIBS})
endif()

# ---- a stand-in for the NVIDIA driver's management library, which the tests open by its path ----
file(GLOB fake_nvml_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fake_nvml/*.cpp)
foreach(name fake_nvml fake_nvml_old)
  add_library(${name} MODULE ${fake_nvml_sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY
                                           ${PROJECT_BINARY_DIR}/fake)
endforeach()
target_compile_definitions(fake_nvml_old PRIVATE CB_FAKE_OLD)

# ---- the program with a CUDA runtime, kernels and cuBLASLt that work on host memory ----
if(CLUSTERBENCH_CUDA_VERSION AND TARGET clusterbench)
  # These define all that is called of CUDA, so that nothing of the real runtime and of the kernels for GPUs is linked.
  set(in_fake_cuda ${PROJECT_SOURCE_DIR}/tests/fake_cuda)
  set(fake_cuda ${in_fake_cuda}/runtime.cpp ${in_fake_cuda}/driver_functions.cpp ${in_fake_cuda}/devices.cpp ${in_fake_cuda}/script.cpp
                $<TARGET_OBJECTS:kernels_on_host> $<TARGET_OBJECTS:device_executor>)
  add_executable(clusterbench_fake_gpu src/cli/main.cpp ${fake_cuda})
  target_include_directories(clusterbench_fake_gpu SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(clusterbench_fake_gpu PRIVATE cb_cli)
  add_library(fake_cublaslt MODULE ${in_fake_cuda}/cublaslt.cpp)
  target_include_directories(fake_cublaslt PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(fake_cublaslt SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  set_target_properties(fake_cublaslt PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY
                                                 ${PROJECT_BINARY_DIR}/fake)
  target_compile_options(fake_cublaslt PRIVATE -O2) # it computes every product of a training step
  # The library calls the runtime in the program.
  set_target_properties(clusterbench_fake_gpu PROPERTIES ENABLE_EXPORTS ON)

  # Units that need a device, over the same.
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/stand_in/*.cpp)
  add_executable(unit_stand_in ${sources} ${fake_cuda})
  target_include_directories(unit_stand_in SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(unit_stand_in PRIVATE cb_test_main cb_bench_training)
  set_target_properties(unit_stand_in PROPERTIES ENABLE_EXPORTS ON UNITY_BUILD OFF)
  add_dependencies(unit_stand_in fake_cublaslt)
  add_test(NAME unit.stand_in COMMAND unit_stand_in)
  set_tests_properties(unit.stand_in PROPERTIES LABELS unit TIMEOUT 360
    ENVIRONMENT "${test_environment};CLUSTERBENCH_CUBLASLT_LIBRARY=${PROJECT_BINARY_DIR}/fake/fake_cublaslt.so")
endif()

# ---- the same over CUDA modules, which lie where a release has them; and a driver that says the version it is told to ----
# cb_fake_module(TARGET FOLDER MAJOR RUNTIME ARCHITECTURES PTX SOURCES)
function(cb_fake_module target folder major runtime architectures ptx sources)
  add_library(${target} MODULE ${PROJECT_SOURCE_DIR}/kernels/module.cpp)
  target_compile_definitions(${target} PRIVATE CB_MODULE_RUNTIME=${runtime} CB_MODULE_PTX=${ptx}
                             CB_MODULE_ARCHITECTURES=${architectures} CB_MODULE_SOURCES=\"${sources}\")
  target_link_libraries(${target} PRIVATE fake_cuda_runtime)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME clusterbench_cuda${major} LIBRARY_OUTPUT_DIRECTORY ${folder}
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/module.version)
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/kernels/module.version)
  add_dependencies(clusterbench_fake_modules ${target})
endfunction()
if(CLUSTERBENCH_CUDA_VERSION AND TARGET clusterbench)
  add_library(fake_cuda_runtime SHARED ${fake_cuda})
  target_link_libraries(fake_cuda_runtime PRIVATE cb_flags)
  target_include_directories(fake_cuda_runtime PUBLIC ${PROJECT_SOURCE_DIR})
  target_include_directories(fake_cuda_runtime SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
  add_library(fake_cublaslt_modules MODULE ${in_fake_cuda}/cublaslt.cpp)
  target_link_libraries(fake_cublaslt_modules PRIVATE fake_cuda_runtime)
  add_library(fake_cuda_driver MODULE ${in_fake_cuda}/driver.cpp ${in_fake_cuda}/script.cpp)
  target_include_directories(fake_cuda_driver PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(fake_cuda_driver PROPERTIES OUTPUT_NAME libcuda SUFFIX .so.1)
  set_target_properties(fake_cublaslt_modules fake_cuda_driver PROPERTIES PREFIX "")
  set_target_properties(fake_cuda_runtime fake_cublaslt_modules fake_cuda_driver PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake)

  file(GLOB module_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/sys/gpu/cuda/modules/*.cpp)
  add_executable(clusterbench_fake_modules src/cli/main.cpp ${module_sources})
  target_include_directories(clusterbench_fake_modules SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(clusterbench_fake_modules PRIVATE cb_cli)
  add_dependencies(clusterbench_fake_modules fake_cublaslt_modules fake_cuda_driver)
  add_dependencies(unit_bench fake_cublaslt_modules)
  set(places ${PROJECT_BINARY_DIR}/fake/modules)
  # As those of the release; one of 12 besides, without PTX.
  cb_fake_module(fake_module_11 ${places} 11 11080 80,86,89,90 90 ${cb_kernel_digest})
  cb_fake_module(fake_module_12 ${places} 12 12080 80,90 0 ${cb_kernel_digest})
  cb_fake_module(fake_module_13 ${places} 13 13000 80,90,100,103,120 120 ${cb_kernel_digest})
  cb_fake_module(fake_module_blackwell ${places}/blackwell 13 13000 100,103,120 120 ${cb_kernel_digest})
  cb_fake_module(fake_module_foreign ${places}/foreign 13 13000 80,90 90 other)
endif()

# ---- the module of the real runtime and kernels, with the machine code of this build; a release has all (cuda_modules.cmake) ----
string(REGEX MATCHALL "[0-9]+-real" compiled_for "${CMAKE_CUDA_ARCHITECTURES}")
list(TRANSFORM compiled_for REPLACE "-real" "")
list(JOIN compiled_for "," compiled_for)
if(CLUSTERBENCH_CUDA_VERSION AND TARGET clusterbench AND compiled_for AND NOT CLUSTERBENCH_SANITIZE)
  set_target_properties(kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(cuda_module MODULE ${PROJECT_SOURCE_DIR}/kernels/module.cpp)
  target_compile_definitions(cuda_module PRIVATE CB_MODULE_PTX=0 CB_MODULE_ARCHITECTURES=${compiled_for} CB_MODULE_SOURCES="${cb_kernel_digest}")
  target_link_libraries(cuda_module PRIVATE kernels CUDA::cudart_static)
  target_include_directories(cuda_module SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_options(cuda_module PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/kernels/module.version -Wl,--exclude-libs,ALL -Wl,-z,defs)
  set_target_properties(cuda_module PROPERTIES OUTPUT_NAME clusterbench_cuda${CUDAToolkit_VERSION_MAJOR}
                                               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake/modules/real
                                               LINK_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/module.version)
  add_dependencies(clusterbench_fake_modules cuda_module)
endif()

# ---- a stand-in for a profiler, which the ranges of NVTX open by its path ----
if(CLUSTERBENCH_CUDA_VERSION)
  add_library(fake_nvtx MODULE ${PROJECT_SOURCE_DIR}/tests/fake_nvtx/fake_nvtx.cpp)
  target_include_directories(fake_nvtx SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  set_target_properties(fake_nvtx PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake)
endif()

# ---- a stand-in for cuFile, likewise ----
add_library(fake_cufile MODULE ${PROJECT_SOURCE_DIR}/tests/fake_cufile/fake_cufile.cpp)
set_target_properties(fake_cufile PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY
                                             ${PROJECT_BINARY_DIR}/fake)
add_dependencies(unit_bench fake_cufile)

# ---- one for libibverbs; _old lacks what came with rdma-core 28 and 34 ----
foreach(name fake_verbs fake_verbs_old)
  add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/tests/fake_verbs/fake_verbs.cpp)
  target_include_directories(${name} SYSTEM PRIVATE ${VERBS_INCLUDE_DIR})
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY
                                           ${PROJECT_BINARY_DIR}/fake)
endforeach()
target_compile_definitions(fake_verbs_old PRIVATE CB_FAKE_OLD)
add_dependencies(unit_sys fake_verbs fake_verbs_old)

# ---- and one for NCCL, which moves host memory between processes; _old lacks what came after 2.7 ----
foreach(name fake_nccl fake_nccl_old)
  add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/tests/fake_nccl/fake_nccl.cpp
              ${PROJECT_SOURCE_DIR}/tests/fake_nccl/engine.cpp
              ${PROJECT_SOURCE_DIR}/tests/fake_nccl/log.cpp
              ${PROJECT_SOURCE_DIR}/tests/fake_nccl/pace.cpp
              ${PROJECT_SOURCE_DIR}/tests/fake_nccl/reduce.cpp
              ${PROJECT_SOURCE_DIR}/tests/fake_nccl/streams.cpp)
  target_link_libraries(${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  # The program with the stand-in runtime exports types of the same names, which are others.
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endforeach()
target_compile_definitions(fake_nccl_old PRIVATE CB_FAKE_OLD)
add_dependencies(unit_bench fake_nccl)

# ---- fuzz: the committed corpus is replayed with every compiler; libFuzzer needs clang ----
file(GLOB fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzzer.cpp)
foreach(source ${fuzzers})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzzer$" "" name ${name})
  add_executable(${name}_replay ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
  target_link_libraries(${name}_replay PRIVATE cb_report cb_campaign cb_import)
  add_test(NAME fuzz.${name}
           COMMAND ${name}_replay ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120
                       ENVIRONMENT "${test_environment}")
  if(CLUSTERBENCH_FUZZ)
    add_executable(${name}_fuzzer ${source})
    target_link_libraries(${name}_fuzzer PRIVATE cb_report cb_campaign cb_import)
    target_link_options(${name}_fuzzer PRIVATE -fsanitize=fuzzer)
  endif()
endforeach()

# ---- tools: longer experiments that are run by hand; built with the rest so that they stay true ----
file(GLOB tools CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/tools/*.cpp)
foreach(source ${tools})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE cb_bench cb_report cb_campaign cb_judge)
endforeach()

# ---- pytest: each tests/<kind>/test_*.py is one test with label <kind> ----
# Seconds; a kind that is not named here has 300. Kinds in cb_timed time what they do: they take turns, and are begun first.
# With ctest --parallel 8 two of them run beside each other, and eight of the unit tests, which mostly wait.
set(cb_timeout_labs 1800)
set(cb_timeout_mpi 900)
set(cb_timeout_attack 900) # two thousand campaigns, also beside other work
set(cb_timeout_release 1800) # a module of the release, at the lowest priority; its packages have 600 of these
set(cb_slots 4)
set(cb_timed labs mpi)
if(TARGET clusterbench)
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*/test_*.py)
  foreach(script ${scripts})
    get_filename_component(kind ${script} DIRECTORY)
    get_filename_component(kind ${kind} NAME)
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "^test_" "${kind}." name ${name})
    set(timeout 300)
    if(cb_timeout_${kind})
      set(timeout ${cb_timeout_${kind}})
    endif()
    # pytest exits 5 when it finds no test: that is a failure here too. Of a test that is not done it says where it is before
    # its time is over.
    add_test(NAME ${name}
             COMMAND ${python} -m pytest -q -rs -p no:cacheprovider -o faulthandler_timeout=150
                     --junitxml=${PROJECT_BINARY_DIR}/junit/${name}.xml ${script}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS ${kind} TIMEOUT ${timeout} PROCESSORS ${cb_slots}
      SKIP_REGULAR_EXPRESSION "\n[0-9]+ skipped in "
      ENVIRONMENT "${test_environment};CLUSTERBENCH_BIN=$<TARGET_FILE:clusterbench>")
    # One of its tests has the wall's clock against a step that hangs.
    if(kind IN_LIST cb_timed OR name STREQUAL cli.gpu_flow)
      set_tests_properties(${name} PROPERTIES RESOURCE_LOCK clock COST 1000)
    endif()
  endforeach()
endif()

# ---- lint: formatting, clang-tidy, include arrows, shell scripts ----
add_test(NAME lint COMMAND ${PROJECT_SOURCE_DIR}/ci/lint.sh)
set_tests_properties(lint PROPERTIES LABELS lint TIMEOUT 1800 RUN_SERIAL TRUE)
add_test(NAME lint.changed COMMAND nice -n 19 ${PROJECT_SOURCE_DIR}/ci/lint.sh --changed)
set_tests_properties(lint.changed PROPERTIES LABELS changed TIMEOUT 1800)
