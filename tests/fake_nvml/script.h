// What the script says, for the functions of the stand-in: fake_nvml.cpp has its grammar.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include <unistd.h>

#include "sys/gpu/nvml/abi.h"

namespace fake_nvml {

namespace abi = cb::nvml::abi;

using Script = std::map<std::string, std::string>;

inline const Script& script() {
  static const Script parsed = [] {
    Script out;
    const char* text = std::getenv("CLUSTERBENCH_FAKE_NVML");
    std::istringstream words(text == nullptr ? "" : text);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals != std::string::npos) out[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return out;
  }();
  return parsed;
}

inline const char* scripted(const std::string& key, int gpu) {
  auto found = script().find(key + "@" + std::to_string(gpu));
  if (found == script().end()) found = script().find(key);
  return found == script().end() ? nullptr : found->second.c_str();
}

inline double number(const char* key, int gpu, double healthy) {
  const char* text = scripted(key, gpu);
  return text == nullptr ? healthy : std::atof(text);
}

inline int count() { return static_cast<int>(number("gpus", -1, 8)); }

// Handles are 1-based indices.
inline int index_of(abi::Device device) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(device)) - 1;
}

inline bool named(const char* kind, int gpu, const char* function) {
  const char* text = scripted(kind, gpu);
  return text != nullptr && std::strcmp(text, function) == 0;
}

inline thread_local unsigned long long asked = 0;
inline std::atomic<unsigned long long> asked_by_all{0};  // threads

inline abi::Return enter(const char* function, int gpu) {
  ++asked;
  ++asked_by_all;
  if (const double cost = number("call_cost", -1, 0); cost > 0)
    ::usleep(static_cast<useconds_t>(cost * 1e6));
  if (named("hang", gpu, function)) {
    for (;;) ::sleep(1000);
  }
  if (named("fail", gpu, function)) return abi::kUnknown;
  if (named("refuse", gpu, function)) return abi::kNotSupported;
  if (number("lost", gpu, 0) != 0) return abi::kGpuIsLost;
  return abi::kSuccess;
}

#define ENTER()                                                               \
  const int gpu = index_of(device);                                           \
  if (const abi::Return code = enter(__func__, gpu); code != abi::kSuccess) { \
    return code;                                                              \
  }

inline abi::Return put(char* to, unsigned length, const std::string& text) {
  std::snprintf(to, length, "%s", text.c_str());
  return abi::kSuccess;
}

// Reads grow with every look, as the real ones do.
inline unsigned long long grown(const char* key, int gpu, double healthy) {
  static std::map<std::string, double> looks;
  const double step = number((std::string(key) + "_step").c_str(), gpu, 0);
  const double at = looks[key + std::to_string(gpu)]++;
  return static_cast<unsigned long long>(number(key, gpu, healthy) + step * at);
}

}  // namespace fake_nvml
