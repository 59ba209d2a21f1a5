#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/profile.h"

namespace cb {

// The places to look for a profile, in this order: a path (a name with '/' or ending in .json), the
// given directory, share/clusterbench/profiles beside the binary's bin/, and the binary itself.
struct ProfilePlaces {
  std::string given_directory = {};             // --profile-dir; may be empty
  std::filesystem::path binary_directory = {};  // the directory of this program
};

ProfilePlaces default_places(const std::string& given_directory);

// A profile that can be loaded by name.
struct ProfileEntry {
  std::string name;
  std::string where;  // a directory, or "built in"
};
std::vector<ProfileEntry> list_profiles(const ProfilePlaces& places);

// Names of the profiles within this program.
std::vector<std::string> built_in_profiles();

// Loads a profile and validates it against the cases of this program. Throws UsageError with every
// problem; for an unknown name it gives the nearest valid one.
Profile load_valid_profile(const std::string& name, const ProfilePlaces& places);

// Full path of the running program.
std::filesystem::path own_binary();
// The full path, for jobs that start this program. Throws Error if the kernel does not tell it.
std::string startable_binary();

}  // namespace cb
