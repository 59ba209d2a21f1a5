#include "core/document_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "core/sha256.h"

namespace cb {
namespace {

constexpr std::string_view kDocumentMark = "clusterbench-document ";
// Slurm and others cut longer lines than 1,024 bytes into several.
constexpr size_t kPieceBytes = 600;
constexpr size_t kMaxPieces = (size_t{1} << 30) / kPieceBytes;
constexpr size_t kShaDigits = 64;
constexpr size_t kCheckDigits = 8;

bool is_hex_text(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string encoded(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a zero byte
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(length));
  return out;
}

std::optional<std::string> decoded(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<size_t>(length) - padding);
  return out;
}

// "SEQUENCE INDEX COUNT SHA256 DATA": what the check of a line is of.
std::string check_of(std::string_view content) {
  return sha256_hex(content).substr(0, kCheckDigits);
}

struct Piece {
  uint64_t sequence = 0, index = 0, count = 0;
  std::string sha256, data;
};

std::string_view next_word(std::string_view& rest) {
  const size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return out;
}

bool read_count(std::string_view word, uint64_t& to) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), to);
  return error == std::errc() && end == word.data() + word.size();
}

// Of "CHECK SEQUENCE INDEX COUNT SHA256 DATA".
std::optional<Piece> piece_of(std::string_view rest) {
  const std::string_view check = next_word(rest);
  if (check.size() != kCheckDigits || check_of(rest) != check) return std::nullopt;
  Piece out;
  if (!read_count(next_word(rest), out.sequence) || !read_count(next_word(rest), out.index) ||
      !read_count(next_word(rest), out.count))
    return std::nullopt;
  out.sha256 = next_word(rest);
  const auto data = decoded(rest);
  if (!data || !is_hex_text(out.sha256, kShaDigits)) return std::nullopt;
  if (out.index >= out.count || out.count > kMaxPieces || data->size() > kPieceBytes)
    return std::nullopt;
  out.data = *data;
  return out;
}

std::string without(std::string text, const std::string& part) {
  if (part.empty()) return text;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

}  // namespace

std::string new_document_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

bool is_document_token(std::string_view text) { return is_hex_text(text, kDocumentTokenDigits); }

std::string document_lines(std::string_view token, uint64_t sequence, std::string_view text) {
  const std::string sha256 = sha256_hex(text);
  const size_t count = (text.size() + kPieceBytes - 1) / kPieceBytes;
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    const std::string content = fmt::format("{} {} {} {} {}", sequence, i, count, sha256,
                                            encoded(text.substr(i * kPieceBytes, kPieceBytes)));
    out += fmt::format("{}{} {} {}\n", kDocumentMark, token, check_of(content), content);
  }
  return out;
}

bool DocumentLines::take(std::string_view line) {
  const size_t begin = std::min(line.find(kDocumentMark), line.size());
  const std::string label(line.substr(0, begin == line.size() ? 0 : begin));
  if (take_undamaged(line)) {
    label_ = label;
    return true;
  }
  for (const std::string& inserted : {label, label_}) {
    const std::string joined = without(std::string(line), inserted);
    if (joined.size() < line.size() && take_undamaged(joined)) return true;
  }
  return false;
}

bool DocumentLines::take_undamaged(std::string_view line) {
  const std::string mark = fmt::format("{}{} ", kDocumentMark, token_);
  const size_t begin = line.find(mark);  // behind a launcher's label
  if (begin == std::string_view::npos) return false;
  std::string_view rest = line.substr(begin + mark.size());
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  auto piece = piece_of(rest);
  if (!piece) return false;
  if (newest_sequence_ && piece->sequence <= *newest_sequence_) return true;
  Begun& begun = begun_[piece->sequence];
  if (begun.pieces.empty())
    begun = {piece->sha256, std::vector<std::string>(piece->count), piece->count};
  if (begun.sha256 != piece->sha256 || begun.pieces.size() != piece->count) return false;
  std::string& place = begun.pieces[piece->index];
  if (!place.empty()) return true;
  place = std::move(piece->data);
  if (--begun.missing == 0) complete(piece->sequence);
  return true;
}

void DocumentLines::complete(uint64_t sequence) {
  const Begun& begun = begun_.at(sequence);
  std::string text;
  for (const std::string& piece : begun.pieces) text += piece;
  if (sha256_hex(text) != begun.sha256) {
    begun_.erase(sequence);
    begun_[sequence];  // stays torn
    return;
  }
  newest_ = std::move(text);
  newest_sequence_ = sequence;
  begun_.erase(begun_.begin(), begun_.upper_bound(sequence));
}

}  // namespace cb
