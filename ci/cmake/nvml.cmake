# nvml.h comes with some CUDA toolkits and with NVIDIA's own packages; where it is missing,
# ci/nvml-header.sh brings it. The library itself is opened at run time.
find_path(CLUSTERBENCH_NVML_INCLUDE_DIR nvml.h
          HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${PROJECT_SOURCE_DIR}/.cache/nvml
                /usr/include/nvidia
          PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
if(CLUSTERBENCH_NVML_INCLUDE_DIR)
  message(STATUS "NVML: yes, ${CLUSTERBENCH_NVML_INCLUDE_DIR}/nvml.h")
else()
  message(STATUS "NVML: no, nvml.h not found (ci/nvml-header.sh brings it): GPUs by PCI only")
endif()
