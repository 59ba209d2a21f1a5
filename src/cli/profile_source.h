#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/profile.h"

namespace cb {

// Where profiles are looked for, in this order: a path (a name with '/' or ending in .json), the
// directory given, share/clusterbench/profiles beside the binary's bin/, and the binary itself.
struct ProfilePlaces {
  std::string given_directory = {};             // --profile-dir; may be empty
  std::filesystem::path binary_directory = {};  // of this program
};

ProfilePlaces default_places(const std::string& given_directory);

// A profile that can be had by name.
struct ProfileEntry {
  std::string name;
  std::string where;  // a directory, or "built in"
};
std::vector<ProfileEntry> list_profiles(const ProfilePlaces& places);

// Loads and validates against the cases of this program. Throws UsageError with every problem; an
// unknown name with the nearest valid one.
Profile load_valid_profile(const std::string& name, const ProfilePlaces& places);

// Full path of the running program.
std::filesystem::path own_binary();
// The same for jobs that start it. Throws Error where the kernel does not tell.
std::string startable_binary();

}  // namespace cb
