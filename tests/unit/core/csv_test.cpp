// Tables as people write them, and versions as people order them.
#include "core/csv.h"
#include "core/csv_fields.h"

#include <doctest/doctest.h>

#include "core/delivery_list.h"
#include "core/error.h"
#include "core/natural_order.h"

using namespace cb;

namespace {

using Fields = std::vector<std::string>;

std::string refused(const std::string& text) {
  try {
    read_delivery_list(text, "d.csv");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a table with a mark, quotes, blank lines and lines of blanks") {
  const auto rows =
      read_csv("\xef\xbb\xbfhost, model \r\n\r\n n1 ,\"a, \"\"b\"\"\nc\"\r\n,,\nn2,\n", "f");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].fields == Fields{"host", "model"});
  CHECK(rows[1].fields == Fields{"n1", "a, \"b\"\nc"});
  CHECK(rows[1].line == 3);
  CHECK(rows[2].fields == Fields{"n2", ""});
  CHECK(rows[2].line == 6);
}

TEST_CASE("the first row says what separates: commas, semicolons or tabs") {
  CHECK(read_csv("a;b;c\n1,5;2;3\n", "f")[1].fields == Fields{"1,5", "2", "3"});
  CHECK(read_csv("a\tb\n1,5\t2\n", "f")[1].fields == Fields{"1,5", "2"});
  CHECK(read_csv("a,b\n1;5,2\n", "f")[1].fields == Fields{"1;5", "2"});
  CHECK(read_csv("", "f").empty());
  CHECK(read_csv("sep=;\r\na;b\r\n1,5;2\r\n", "f")[1].fields == Fields{"1,5", "2"});
  CHECK(read_csv("sep=,\na,b\n", "f")[0].line == 2);
}

TEST_CASE("text of Chinese and of wide encodings becomes UTF-8; other bytes are refused") {
  // 主机,型号 in GBK.
  CHECK(read_csv("\xd6\xf7\xbb\xfa,\xd0\xcd\xba\xc5\nn1,x\n", "f")[0].fields ==
        Fields{"主机", "型号"});
  const std::string wide(
      "\xff\xfe"
      "a\0,\0b\0\n\0",
      10);
  CHECK(read_csv(wide, "f")[0].fields == Fields{"a", "b"});
  CHECK_THROWS_AS(read_csv("a,\xff\xff\xff\n", "f"), UsageError);
  CHECK_THROWS_AS(read_csv(std::string("a\0b", 3), "f"), UsageError);
  CHECK_THROWS_AS(read_csv("a,b\n\"n1,x\n", "f"), UsageError);
}

TEST_CASE("a delivery list under English and Chinese names, with what is empty left empty") {
  const auto list = read_delivery_list(
      "Serial Number,Rack,Host,Type,Model\nA1,r1,n1,GPU,NVIDIA H20\n\nN/A,r1,n1,ssd,\n", "d.csv");
  REQUIRE(list.size() == 2);
  CHECK(list[0].host == "n1");
  CHECK(list[0].part == "gpu");
  CHECK(list[0].serial == "A1");
  CHECK(list[0].model == "NVIDIA H20");
  CHECK(list[1].part == "nvme");
  CHECK(list[1].serial.empty());  // "N/A" is no serial number
  const auto chinese =
      read_delivery_list("主机名,部件类型,槽位,序列号\nn2,网卡,0000:1b:00.0,S\n", "d");
  REQUIRE(chinese.size() == 1);
  CHECK(chinese[0].part == "nic");
  CHECK(chinese[0].slot == "0000:1b:00.0");
}

TEST_CASE("a list that cannot be compared is refused with its line") {
  CHECK(says(refused("host,part,serial\n"), "no piece"));
  CHECK(says(refused("host,part\nn1,gpu\n"), "no column is called serial"));
  CHECK(says(refused("host,part,serial\nn1,gpu,A\nn1,gpu,A\n"), "A stands on line 2 already"));
  CHECK(says(refused("host,part,serial\n,gpu,A\n"), "line 2"));
  CHECK(says(refused("host,part,serial\nn1,gppu,A\n"), "did you mean gpu"));
  CHECK(refused("host,part,serial\nn1,gpu,A\nn1,nvme,A\n").empty());
}

TEST_CASE("any bytes are read or refused in words") {
  const std::string good =
      "\xef\xbb\xbfhost;part;serial;model\r\nn1;GPU;\"A;1\";\xd0\xcd\r\n\r\nn2;ssd;B2;x\r\n";
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int byte : std::initializer_list<int>{0, '"', '\n', ';', 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(byte);
      for (const std::string& text : {bad, bad.substr(0, at)}) {
        try {
          read_delivery_list(text, "d.csv");
        } catch (const UsageError& e) {
          CHECK(std::string(e.what()).size() > 10);
        }
      }
    }
  }
}

TEST_CASE("versions in their natural order, from both sides") {
  CHECK(natural_compare("535.98", "535.129") < 0);
  CHECK(natural_compare("535.129.03", "535.129.3") == 0);
  CHECK(natural_compare("28.39.1002", "28.39.10020") < 0);
  CHECK(natural_compare("2.19", "2.19.3") < 0);
  CHECK(natural_compare("2.19.3", "2.19") > 0);
  CHECK(natural_compare("96.00.9F", "96.00.A1") < 0);
  CHECK(natural_compare("", "") == 0);
  CHECK(natural_compare("99999999999999999999998", "99999999999999999999999") < 0);
}

TEST_CASE("what firmware says where nobody wrote a serial number") {
  for (const char* text : {"", "0", "0000", "None", "Not Specified", "To Be Filled By O.E.M.",
                           "Default string", "System Serial Number"})
    CHECK_MESSAGE(is_placeholder_serial(text), text);
  CHECK_FALSE(is_placeholder_serial("1654922001234"));
  CHECK_FALSE(is_placeholder_serial("J0A"));
}

TEST_CASE("blanks of web pages and of Chinese text around a field are none of it") {
  CHECK(read_csv("a,\xc2\xa0 b\xe3\x80\x80,\xe2\x80\x8b"
                 "c\n",
                 "f")[0]
            .fields == Fields{"a", "b", "c"});
}

TEST_CASE("lists that a spreadsheet or a hand has spoilt are refused with their line") {
  const std::string head = "host,part,serial,model\n";
  CHECK(says(refused(head + "n1,gpu,A1,\nn1,gpu,a1,\n"), "line 3"));  // capitals are no difference
  CHECK(says(refused(head + "n1,gpu,1.65492E+12,\n"), "spreadsheet"));
  CHECK(refused(head + "n1,gpu,12E45,\n").empty());
  CHECK(says(refused(head + "n1,gpu,A1,H20, 96 GB\n"), "has 5 fields, and the first line has 4"));
  CHECK(refused(head + "n1,gpu,A1,H20,,\n").empty());
  CHECK(
      says(refused("host,part,serial,SN\nn1,gpu,A1,B1\n"), "the columns serial and SN both mean"));
  CHECK(refused("host,part,serial,model,part number\nn1,gpu,A1,H20,900-1\n").empty());
  CHECK(says(refused(head + ",gpu,A1,\n"), "line 2"));
  const auto zeros = read_delivery_list(head + "n1,gpu,\"=\"\"0012\"\"\",\nn1,gpu,'0013,\n", "f");
  REQUIRE(zeros.size() == 2);
  CHECK(zeros[0].serial == "0012");
  CHECK(zeros[1].serial == "0013");
}

TEST_CASE("fields of one line: quotes hold commas and doubled quotes, blanks stay") {
  CHECK(csv_fields("a,b c, d ") == Fields{"a", "b c", " d "});
  CHECK(csv_fields("\"a,b\",\"\",c") == Fields{"a,b", "", "c"});
  CHECK(csv_fields("\"say \"\"a\"\"\",") == Fields{"say \"a\"", ""});
  CHECK(csv_fields("") == Fields{""});
}
