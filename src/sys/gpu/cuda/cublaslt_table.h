// The functions of cuBLASLt that are called, and what their failures mean. For the files that call
// the library; all others see cublaslt.h and products.h.
#pragma once

#include <string>

#include <cublasLt.h>

#include "sys/gpu/cuda/cublaslt.h"

namespace cb::cublaslt {

struct Table {
  decltype(::cublasLtCreate)* create = nullptr;
  decltype(::cublasLtDestroy)* destroy = nullptr;
  decltype(::cublasLtGetVersion)* version = nullptr;
  decltype(::cublasLtGetStatusString)* status_string = nullptr;  // null in libraries that lack it
  decltype(::cublasLtMatmul)* matmul = nullptr;
  decltype(::cublasLtMatmulDescCreate)* desc_create = nullptr;
  decltype(::cublasLtMatmulDescDestroy)* desc_destroy = nullptr;
  decltype(::cublasLtMatmulDescSetAttribute)* desc_set = nullptr;
  decltype(::cublasLtMatrixLayoutCreate)* layout_create = nullptr;
  decltype(::cublasLtMatrixLayoutDestroy)* layout_destroy = nullptr;
  decltype(::cublasLtMatrixLayoutSetAttribute)* layout_set = nullptr;
  decltype(::cublasLtMatmulPreferenceCreate)* preference_create = nullptr;
  decltype(::cublasLtMatmulPreferenceDestroy)* preference_destroy = nullptr;
  decltype(::cublasLtMatmulPreferenceSetAttribute)* preference_set = nullptr;
  decltype(::cublasLtMatmulAlgoGetHeuristic)* heuristic = nullptr;
  decltype(::cublasLtMatmulAlgoCapGetAttribute)* capability = nullptr;
};

// Throws Error if the GPU has failed, with which the library fails too, or if the product itself
// failed (`queued`). Throws Unsupported otherwise: the library does not suit this driver or GPU, or
// cannot do this, and the GPU is not at fault.
void check_call(const Table& t, cublasStatus_t status, const char* call, bool queued = false);

// The units that the algorithm computes with, as Matmul::units() has them.
std::string units_of(const Table& t, const cublasLtMatmulAlgo_t& algorithm);

}  // namespace cb::cublaslt
