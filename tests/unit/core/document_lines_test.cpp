#include "core/document_lines.h"

#include <sstream>

#include <doctest/doctest.h>

using namespace cb;

namespace {

const std::string kToken(kDocumentTokenDigits, 'a');

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// 1,500 bytes with every value: three lines.
std::string some_document(char first = '{') {
  std::string out(1, first);
  for (int i = 1; i < 1500; ++i) out += static_cast<char>(i * 7);
  return out;
}

void take_all(DocumentLines& to, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) CHECK(to.take(line));
}

}  // namespace

TEST_CASE("a document comes back from its lines, in any order and behind labels") {
  const std::string document = some_document();
  const auto lines = lines_of(document_lines(kToken, 1, document));
  REQUIRE(lines.size() == 3);
  for (const std::string& line : lines) CHECK(line.size() <= 1000);
  DocumentLines reader(kToken);
  CHECK(reader.take("[1,0]<stdout>:" + lines[2] + "\r"));
  CHECK(reader.take(lines[0]));
  CHECK(!reader.newest());
  CHECK(reader.torn());
  CHECK(reader.take("0: " + lines[1]));
  CHECK(reader.newest() == document);
  CHECK(!reader.torn());
}

TEST_CASE("a label within a line is no damage, wherever it stands") {
  const std::string label = "[1,0]<stdout>:";
  const auto lines = lines_of(document_lines(kToken, 1, some_document()));
  for (size_t i = 0; i <= lines[1].size(); ++i) {
    DocumentLines reader(kToken);
    CHECK(reader.take(label + lines[0]));
    CHECK(reader.take(label + lines[2]));
    std::string labelled = label + lines[1];
    labelled.insert(label.size() + i, label);
    CHECK(reader.take(labelled));
    CHECK(reader.newest() == some_document());
  }
  DocumentLines reader(kToken);
  CHECK(reader.take(label + lines[0]));
  CHECK(!reader.take(label + lines[1].substr(0, 300) + "[1,1]<stdout>:" + lines[1].substr(300)));
}

TEST_CASE("a line that is lost or damaged costs the document") {
  const auto lines = lines_of(document_lines(kToken, 1, some_document()));
  SUBCASE("lost") {
    DocumentLines reader(kToken);
    take_all(reader, {lines[0], lines[2]});
    CHECK(!reader.newest());
    CHECK(reader.torn());
  }
  SUBCASE("any byte changed") {
    for (size_t i = 0; i < lines[1].size(); ++i) {
      DocumentLines reader(kToken);
      take_all(reader, {lines[0], lines[2]});
      std::string damaged = lines[1];
      damaged[i] = damaged[i] == 'x' ? 'y' : 'x';
      CHECK(!reader.take(damaged));
      CHECK(!reader.newest());
    }
  }
  SUBCASE("cut by other output, and sent again") {
    DocumentLines reader(kToken);
    take_all(reader, {lines[0], lines[2]});
    CHECK(!reader.take(lines[1].substr(0, 400) + "n1:77 NCCL INFO"));
    CHECK(!reader.take(lines[1].substr(400)));
    CHECK(!reader.newest());
    take_all(reader, lines);
    CHECK(reader.newest() == some_document());
    CHECK(!reader.torn());
  }
}

TEST_CASE("the newest whole document counts") {
  const std::string old = some_document('['), fresh = some_document('{');
  DocumentLines reader(kToken);
  const auto second = lines_of(document_lines(kToken, 2, fresh));
  take_all(reader, lines_of(document_lines(kToken, 1, old)));
  take_all(reader, {second[0], second[1]});
  CHECK(reader.newest() == old);
  CHECK(reader.torn());
  take_all(reader, {second[2]});
  CHECK(reader.newest() == fresh);
  take_all(reader, lines_of(document_lines(kToken, 1, old)));  // late
  CHECK(reader.newest() == fresh);
  CHECK(!reader.torn());
}

TEST_CASE("lines of others are text") {
  DocumentLines reader(kToken);
  const std::string other(kDocumentTokenDigits, 'b');
  for (const std::string& line : lines_of(document_lines(other, 1, "{}")))
    CHECK(!reader.take(line));
  CHECK(!reader.take(""));
  CHECK(!reader.take("clusterbench-document " + kToken));
  CHECK(!reader.take("clusterbench-document " + kToken + " "));
  CHECK(!reader.newest());
  CHECK(!reader.torn());
}

TEST_CASE("a token is 32 digits, and never the same") {
  const std::string token = new_document_token();
  CHECK(is_document_token(token));
  CHECK(token != new_document_token());
  CHECK(!is_document_token(token + "0"));
  CHECK(!is_document_token(token.substr(1)));
  CHECK(!is_document_token("../" + token.substr(3)));
}
