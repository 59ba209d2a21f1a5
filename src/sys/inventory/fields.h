#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/inventory.h"
#include "sys/os/fs_root.h"

// Shared by the collectors of src/sys/inventory/: setting attributes and reading the kernel's text
// formats.
namespace cb::inventory {

// Sets the attribute unless the value is absent or an empty text.
void put(Part& part, const char* name, std::optional<Attribute> value);
void put_text(Part& part, const char* name, std::optional<std::string> value);
void put_integer(Part& part, const char* name, std::optional<long long> value, long long scale = 1);

// Sets the attribute to the text, or to the whole number times `scale`, in a file.
void put_file(Part& part, const char* name, const FsRoot& fs, const std::string& path);
void put_number_file(Part& part, const char* name, const FsRoot& fs, const std::string& path,
                     long long scale = 1);

// "always [madvise] never" → "madvise".
std::optional<std::string> bracketed(const std::optional<std::string>& text);

// Parses the kernel's list format: "0-2,8" → 0 1 2 8. Leaves out malformed or absurd parts.
std::vector<int> number_list(std::string_view text);

// The words of a text.
std::vector<std::string> words(std::string_view text);
std::vector<std::string> lines(std::string_view text);
std::string trimmed(std::string_view text);

// Reads "key : value" lines up to the first empty line.
std::map<std::string, std::string> colon_fields(std::string_view text);

// Reads the first processor's fields of /proc/cpuinfo. Reads only the beginning of the file: the
// whole takes long on hosts with hundreds of processors.
std::map<std::string, std::string> first_processor(const FsRoot& fs);

}  // namespace cb::inventory
