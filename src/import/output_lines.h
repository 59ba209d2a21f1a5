#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Lines of a foreign output, and numbers as they stand there.
namespace cb {

struct OutputLine {
  size_t number = 0;  // from 1
  std::string_view text;
};

// The lines without carriage returns. If the line in which `mark` first stands has something before
// it, that prefix is stripped, and lines without it are left out: they are of other processes.
std::vector<OutputLine> output_lines(std::string_view text, std::string_view mark);

std::vector<std::string_view> words_of(std::string_view line);
std::string_view trimmed(std::string_view text);

// A decimal number as a program prints it. `half_step` is half of the last printed digit: the true
// value lies within value ± half_step.
struct PrintedNumber {
  double value = 0;  // may be NaN or infinite
  double half_step = 0;
};
std::optional<PrintedNumber> printed_number(std::string_view word);
std::optional<int64_t> printed_integer(std::string_view word);

// The number of the first word behind `label`; a comma behind it is not part of it.
std::optional<PrintedNumber> number_behind(std::string_view line, std::string_view label);

}  // namespace cb
