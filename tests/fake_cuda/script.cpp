// What CLUSTERBENCH_FAKE_CUDA says.
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "tests/fake_cuda/fake.h"

namespace fake {

namespace {

const std::map<std::string, std::string>& script() {
  static const auto parsed = [] {
    std::map<std::string, std::string> out;
    const char* given = std::getenv("CLUSTERBENCH_FAKE_CUDA");
    std::istringstream words(given == nullptr ? "" : given);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals != std::string::npos) out[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return out;
  }();
  return parsed;
}

}  // namespace

std::string text(const std::string& key, int device) {
  auto found = script().find(key + "@" + std::to_string(device));
  if (found == script().end()) found = script().find(key);
  return found == script().end() ? "" : found->second;
}

double number(const std::string& key, int device, double otherwise) {
  const std::string value = text(key, device);
  return value.empty() ? otherwise : std::atof(value.c_str());
}

}  // namespace fake
