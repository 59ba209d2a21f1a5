# All presets but dev and tsan compile eight files of a room in one compiler run (CMAKE_UNITY_BUILD): headers are
# read once and templates instantiated once, which shortens a clean build. Files of a
# room therefore share one anonymous namespace: a name in it is used once. Alone stay:
file(GLOB cb_compiled_alone CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/src/bench/*/*_case.cpp # each has its own describe() and run()
     ${PROJECT_SOURCE_DIR}/src/bench/cpu/burn/gemm_avx*.cpp # have flags of their own, below
     ${PROJECT_SOURCE_DIR}/src/bench/cpu/lu.cpp # have flags of their own, below
     ${PROJECT_SOURCE_DIR}/src/bench/cpu/lu_panel.cpp
     ${PROJECT_SOURCE_DIR}/src/bench/cpu/cg_kernels.cpp
     ${PROJECT_SOURCE_DIR}/src/bench/training/row_kernels_*.cpp # have flags of their own, below
     ${PROJECT_SOURCE_DIR}/src/sys/gpu/no_modules.cpp # not taken by the test program that has modules
     ${PROJECT_SOURCE_DIR}/src/sys/gpu/cuda/modules/*.cpp # one of them knows the digest of kernels/
     ${PROJECT_SOURCE_DIR}/src/sys/net/verbs_library.cpp # defines what a header has as macros
     ${PROJECT_SOURCE_DIR}/src/sys/net/tcp_socket.cpp) # <linux/tcp.h>, which <netinet/tcp.h> contradicts
set_source_files_properties(${cb_compiled_alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# The burn's two products for wider vectors; which one runs is decided by the processor.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/bench/cpu/burn/gemm_avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/bench/cpu/burn/gemm_avx512.cpp PROPERTIES COMPILE_OPTIONS -mavx512f)
endif()
# The loops of LU and CG: optimised in every preset, because tests solve.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/bench/cpu/lu.cpp ${PROJECT_SOURCE_DIR}/src/bench/cpu/lu_panel.cpp
                            ${PROJECT_SOURCE_DIR}/src/bench/cpu/cg_kernels.cpp
                            PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno")
# The loops of a training step: optimised in every preset, because tests train.
set(cb_rows ${PROJECT_SOURCE_DIR}/src/bench/training/row_kernels)
set_source_files_properties(${cb_rows}_generic.cpp PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${cb_rows}_avx2.cpp PROPERTIES COMPILE_OPTIONS "-O3;-fno-math-errno;-mavx2;-mfma")
  set_source_files_properties(${cb_rows}_avx512.cpp PROPERTIES COMPILE_OPTIONS
                              "-O3;-fno-math-errno;-mavx512f;-mavx512dq;-mfma;-mprefer-vector-width=512")
endif()
