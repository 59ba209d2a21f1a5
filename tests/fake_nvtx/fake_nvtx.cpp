// What a profiler is to NVTX: a library that NVTX_INJECTION64_PATH names. It writes a line for each
// begin and end of a range into the file that FAKE_NVTX_LOG names, indented by its depth.
#include <cstdio>
#include <cstdlib>

#include <nvtx3/nvToolsExt.h>

namespace {

thread_local int depth = 0;

void log_range(const char* text) {
  static FILE* const file = std::fopen(std::getenv("FAKE_NVTX_LOG"), "w");
  if (file == nullptr) return;
  std::fprintf(file, "%*s%s\n", 2 * depth, "", text);
  std::fflush(file);
}

int push(const char* text) {
  log_range(text);
  return depth++;
}

int pop() {
  --depth;
  log_range("end");
  return depth;
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
  return 1;
}
