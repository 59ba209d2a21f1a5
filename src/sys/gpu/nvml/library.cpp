#include "sys/gpu/nvml/ask.h"
#include "sys/os/dl.h"

namespace cb::nvml {

namespace {
// Name and GPU of the current call. They are two atomics: a message might mix two calls, which is
// better than a lock that a hanging call holds.
std::atomic<const char*> g_call{"nvmlInit_v2"};
std::atomic<int> g_gpu{-1};
}  // namespace

namespace {

Table load(const DynamicLibrary& library) {
  Table t;
#define CB_NVML_LOAD(name, ...) \
  t.name = library.symbol<std::remove_pointer_t<decltype(t.name)>>(#name);
  CB_NVML_FUNCTIONS(CB_NVML_LOAD)
#undef CB_NVML_LOAD
  return t;
}

std::shared_ptr<const Table> open_table(Said& reason) {
  static const DynamicLibrary library =
      DynamicLibrary::open("CLUSTERBENCH_NVML_LIBRARY", {"libnvidia-ml.so.1", "libnvidia-ml.so"});
  if (!library.present()) {
    reason = said("nvml.not_opened", library.why());
    return nullptr;
  }
  auto table = std::make_shared<Table>(load(library));
  if (table->nvmlInit_v2 == nullptr || table->nvmlDeviceGetCount_v2 == nullptr ||
      table->nvmlDeviceGetHandleByIndex_v2 == nullptr) {
    reason = said("nvml.too_old", library.path());
    return nullptr;
  }
  g_call = "nvmlInit_v2";
  g_gpu = -1;
  if (const abi::Return code = table->nvmlInit_v2(); code != abi::kSuccess) {
    reason = said("nvml.init", error_text(*table, code));
    return nullptr;
  }
  return table;
}

}  // namespace

std::string error_text(const Table& t, abi::Return code) {
  const char* text = t.nvmlErrorString == nullptr ? nullptr : t.nvmlErrorString(code);
  return text != nullptr ? text : fmt::format("NVML error {}", static_cast<int>(code));
}

void note_call(const char* name, int gpu) {
  g_call.store(name, std::memory_order_relaxed);
  g_gpu.store(gpu, std::memory_order_relaxed);
}

std::string pci_text(const abi::PciInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}
std::variant<Library, Absent> open() {
  static Said reason;
  static const std::shared_ptr<const Table> table = open_table(reason);
  if (!table) return Absent{reason};
  return Library(table);
}

std::string last_call() {
  const int gpu = g_gpu.load(std::memory_order_relaxed);
  const char* name = g_call.load(std::memory_order_relaxed);
  return gpu < 0 ? std::string(name) : fmt::format("{} of GPU {}", name, gpu);
}

Library::Library(std::shared_ptr<const Table> table) : table_(std::move(table)) {}

std::vector<Gpu> Library::gpus() const {
  unsigned count = 0;
  const Said why =
      call(*table_, -1, "nvmlDeviceGetCount_v2", table_->nvmlDeviceGetCount_v2, &count);
  if (!why.empty()) throw Error(said("nvml.see_smi", why));
  std::vector<Gpu> out;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu{.index = i};
    abi::Device device = nullptr;
    gpu.unreachable = call(*table_, static_cast<int>(i), "nvmlDeviceGetHandleByIndex_v2",
                           table_->nvmlDeviceGetHandleByIndex_v2, i, &device);
    if (gpu.unreachable.empty()) {
      gpu.handle = device;
      const Asker a(*table_, gpu);
      std::array<char, 96> text{};
      constexpr unsigned kLength = 95;
      if (a.ask("nvmlDeviceGetUUID", table_->nvmlDeviceGetUUID, text.data(), kLength).empty())
        gpu.uuid = text.data();
      if (a.ask("nvmlDeviceGetName", table_->nvmlDeviceGetName, text.data(), kLength).empty())
        gpu.name = text.data();
      abi::PciInfo pci{};
      gpu.no_address = a.ask("nvmlDeviceGetPciInfo_v3", table_->nvmlDeviceGetPciInfo_v3, &pci);
      if (gpu.no_address.empty()) gpu.pci_address = pci_text(pci);
      abi::Memory memory{};
      if (a.ask("nvmlDeviceGetMemoryInfo", table_->nvmlDeviceGetMemoryInfo, &memory).empty())
        gpu.memory_bytes = static_cast<double>(memory.total);
    }
    out.push_back(std::move(gpu));
  }
  return out;
}

std::string Library::driver_version() const {
  std::array<char, 96> text{};
  const Said why = call(*table_, -1, "nvmlSystemGetDriverVersion",
                        table_->nvmlSystemGetDriverVersion, text.data(), 95U);
  return why.empty() ? text.data() : "";
}

}  // namespace cb::nvml
