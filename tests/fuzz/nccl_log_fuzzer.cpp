// Any bytes as NCCL's log: choices and connections are found or not, each choice once, and never
// more connections than lines.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "model/nccl_paths.h"
#include "model/nccl_tuning.h"
#include "tests/fuzz/memory_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<cb::TuningChoice> choices = cb::parse_tuning_log(text);
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n') + 1);
  if (choices.size() > lines) fuzz::finding("more choices than lines", text);
  for (const cb::TuningChoice& choice : choices) {
    if (cb::to_text(choice).empty()) fuzz::finding("a choice without a text", text);
  }
  cb::NcclPaths paths;
  cb::read_paths(text, paths);
  const int connections = paths.peer + paths.domain + paths.host + paths.network + paths.in_network;
  if (static_cast<size_t>(connections) > lines) fuzz::finding("more connections than lines", text);
  if (paths.gpu_direct > paths.network || paths.sockets > paths.network)
    fuzz::finding("more of a kind than connections", text);
  return 0;
}
