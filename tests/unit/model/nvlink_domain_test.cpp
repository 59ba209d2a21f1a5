#include "model/nvlink_domain.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

// `racks` domains of `hosts` hosts with `gpus` GPUs each.
std::vector<DomainSeat> racks_of(int racks, int hosts, int gpus) {
  std::vector<DomainSeat> out;
  for (int r = 0; r < racks; ++r) {
    for (int h = 0; h < hosts; ++h) {
      for (int g = 0; g < gpus; ++g) out.push_back({r * hosts + h, "uuid." + std::to_string(r)});
    }
  }
  return out;
}

}  // namespace

TEST_CASE("72 GPUs on 18 hosts are one domain, 144 on 36 are two") {
  CHECK(domain_shape(racks_of(1, 18, 4)) == DomainShape{1, 18, 72});
  CHECK(domain_shape(racks_of(2, 18, 4)) == DomainShape{2, 18, 72});
  CHECK(count_domains(racks_of(2, 18, 4)) ==
        std::vector<DomainCount>{{"uuid.0", 72, 18}, {"uuid.1", 72, 18}});
}

TEST_CASE("a domain of one host knows it") {
  CHECK(count_domains({{0, "a"}, {1, "b"}, {2, "b"}, {1, "c"}, {1, "c"}}) ==
        std::vector<DomainCount>{{"a", 1, 1, 0}, {"b", 2, 2}, {"c", 2, 1, 1}});
}

TEST_CASE("domains of one host, uneven ones and unknown ones give no shape") {
  CHECK_FALSE(domain_shape(racks_of(4, 1, 8)));
  CHECK_FALSE(domain_shape({}));
  std::vector<DomainSeat> short_rack = racks_of(2, 18, 4);
  short_rack.pop_back();
  CHECK_FALSE(domain_shape(short_rack));
  CHECK(count_domains(short_rack) ==
        std::vector<DomainCount>{{"uuid.0", 72, 18}, {"uuid.1", 71, 18}});
  std::vector<DomainSeat> lost = racks_of(1, 18, 4);
  lost.back().domain = "";
  CHECK_FALSE(domain_shape(lost));
  CHECK(count_domains(lost) == std::vector<DomainCount>{{"uuid.0", 71, 18}});
}
