// Shared by the files of src/sys/gpu/nvml/: NVML's functions, and calls for one GPU.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "sys/gpu/nvml.h"
#include "sys/gpu/nvml/abi.h"

namespace cb::nvml {

struct Table : abi::Functions {};

std::string error_text(const Table& table, abi::Return code);

// Sets the call that last_call() returns next.
void note_call(const char* name, int gpu);

// Calls one function for one GPU. Returns "" if it succeeded, else why it did not.
template <typename F, typename... Args>
Said call(const Table& t, int gpu, const char* name, F* function, Args... args) {
  if (function == nullptr) return said("nvml.lacks", name);
  note_call(name, gpu);
  const abi::Return code = function(args...);
  if (code == abi::kSuccess) return {};
  return said("said.of", name, error_text(t, code));
}

// Calls NVML for one GPU and puts the answers into readings or attributes.
class Asker {
 public:
  Asker(const Table& table, const Gpu& gpu)
      : t_(table), gpu_(gpu), device_(static_cast<abi::Device>(gpu.handle)) {}

  template <typename F, typename... Args>
  Said ask(const char* name, F* function, Args... args) const {
    return call(t_, static_cast<int>(gpu_.index), name, function, device_, args...);
  }

  // Reads a number of type T, which the function stores through its last parameter. `before` are
  // the parameters in front of it.
  template <typename T, typename F, typename... Before>
  std::optional<double> number(Readings& out, const char* key, const char* name, F* function,
                               double scale, Before... before) const {
    T value{};
    const Said why = ask(name, function, before..., &value);
    if (!why.empty()) {
      out.unavailable[key] = why;
      return std::nullopt;
    }
    return out.values[key] = static_cast<double>(value) * scale;
  }

  // Reads field values in one call; abi.h says which fields may be asked for. `scope` is the link,
  // for fields of a link.
  struct Field {
    const char* key;
    unsigned id;
    double scale;
  };
  template <size_t n>
  void fields(Readings& out, const Field (&wanted)[n], unsigned scope = 0) const {
    abi::FieldValue values[n] = {};
    for (size_t i = 0; i < n; ++i) {
      values[i].field = wanted[i].id;
      values[i].scope = scope;
    }
    const Said refused =
        ask("nvmlDeviceGetFieldValues", t_.nvmlDeviceGetFieldValues, static_cast<int>(n), values);
    for (size_t i = 0; i < n; ++i) take_field(out, wanted[i], values[i], refused);
  }
  std::optional<double> field(Readings& out, const char* key, unsigned id, double scale) const {
    fields(out, {{key, id, scale}});
    const auto found = out.values.find(key);
    return found == out.values.end() ? std::nullopt : std::optional(found->second);
  }

  template <typename F>
  void text(Part& part, const char* key, const char* name, F* function) const {
    std::array<char, 96> buffer{};
    const Said why = ask(name, function, buffer.data(), static_cast<unsigned>(buffer.size() - 1));
    if (!why.empty())
      part.unavailable[key] = why;
    else if (buffer[0] != '\0')
      part.attributes[key] = std::string(buffer.data());
  }

  template <typename F, typename... Before>
  void integer(Part& part, const char* key, const char* name, F* function, double scale,
               Before... before) const {
    Readings one;
    if (const auto value = number<unsigned>(one, key, name, function, scale, before...))
      part.attributes[key] = static_cast<int64_t>(*value);
    else
      part.unavailable[key] = one.unavailable[key];
  }

  template <typename F>
  void flag(Part& part, const char* key, const char* name, F* function) const {
    abi::EnableState state{};
    const Said why = ask(name, function, &state);
    if (why.empty())
      part.attributes[key] = state == abi::kEnabled;
    else
      part.unavailable[key] = why;
  }

  const Table& table() const { return t_; }

 private:
  void take_field(Readings& out, const Field& wanted, const abi::FieldValue& field,
                  const Said& refused) const {
    Said why = refused;
    if (why.empty() && field.result != abi::kSuccess)
      why = said("nvml.field", wanted.id, error_text(t_, field.result));
    const auto value = why.empty() ? field_number(field) : std::nullopt;
    if (value)
      out.values[wanted.key] = *value * wanted.scale;
    else
      out.unavailable[wanted.key] = why.empty() ? said("nvml.field_unknown", wanted.id) : why;
  }
  static std::optional<double> field_number(const abi::FieldValue& field) {
    switch (field.type) {
      case abi::kDouble:
        return field.value.as_double;
      case abi::kUnsigned:
        return field.value.as_unsigned;
      case abi::kUnsignedLong:
        return static_cast<double>(field.value.as_unsigned_long);
      case abi::kUnsignedLongLong:
        return static_cast<double>(field.value.as_unsigned_long_long);
      case abi::kSignedLongLong:
        return static_cast<double>(field.value.as_long_long);
      case abi::kSigned:
        return field.value.as_int;
      default:
        return std::nullopt;
    }
  }

  const Table& t_;
  const Gpu& gpu_;
  abi::Device device_;
};

// Formats the address as sysfs does: four digits of domain, lower case.
std::string pci_text(const abi::PciInfo& pci);

// Returns the number of links that are up. Nothing, and sets `why`, if the GPU has no link or does
// not say.
std::optional<int64_t> active_nvlinks(const Asker& a, Said& why);

// Reads how the GPU stands to its NVSwitch fabric. Returns "" if NVML told it. Sets `no_faults` if
// the driver has no list of the fabric's faults: `info.health_mask` means nothing then.
Said read_fabric(const Asker& a, abi::FabricInfo& info, Said& no_faults);

// Readings that several functions of Library return.
void read_remapped_rows(const Asker& a, Readings& out);
void read_temperatures(const Asker& a, Readings& out);
void read_nvlink_errors(const Asker& a, Readings& out);
std::optional<uint64_t> read_event_reasons(const Asker& a, Said& why);

}  // namespace cb::nvml
