#include "bench/cpu/host_gemm.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "bench/cpu/builtin_gemm.h"
#include "bench/cpu/random.h"
#include "core/error.h"

namespace cb {
namespace {

constexpr const char* kTypeNames[] = {"fp64", "fp32", "bf16", "int8"};

template <typename Element, typename Make>
void fill_rows(Team& team, void* to, int64_t rows, int64_t columns, uint64_t stream, Make make) {
  team.run([&](int index) {
    const Range mine = share_of_items(static_cast<size_t>(rows), team.size(), index);
    for (size_t r = mine.begin; r < mine.end; ++r) {
      Random random(stream, r);
      Element* row = static_cast<Element*>(to) + r * static_cast<size_t>(columns);
      for (int64_t j = 0; j < columns; ++j) row[j] = make(random);
    }
  });
}

void fill(Team& team, GemmType type, void* to, int64_t rows, int64_t columns, uint64_t stream) {
  switch (type) {
    case GemmType::fp64:
      return fill_rows<double>(team, to, rows, columns, stream,
                               [](Random& r) { return r.symmetric(); });
    case GemmType::fp32:
      return fill_rows<float>(team, to, rows, columns, stream,
                              [](Random& r) { return static_cast<float>(r.symmetric()); });
    case GemmType::bf16:
      return fill_rows<uint16_t>(team, to, rows, columns, stream, [](Random& r) {
        return to_bf16(static_cast<float>(r.symmetric()));
      });
    case GemmType::int8:
      return fill_rows<int8_t>(team, to, rows, columns, stream, [](Random& r) {
        return static_cast<int8_t>(static_cast<int>(r.next() % 255) - 127);
      });
  }
}

template <typename Sum>
void fill_sums(void* c, size_t count, Sum value) {
  std::fill_n(static_cast<Sum*>(c), count, value);
}

using Opened = std::variant<HostGemm, host_blas::Absent>;

Opened from_cblas(const std::string& library,
                  const std::variant<host_blas::Cblas, host_blas::Absent>& opened, GemmType type) {
  if (const auto* absent = std::get_if<host_blas::Absent>(&opened)) return *absent;
  const auto& blas = std::get<host_blas::Cblas>(opened);
  HostGemm out{library, blas.identity.version, blas.identity.core, {}};
  if (type == GemmType::fp64) {
    out.multiply = [f = blas.fp64](const GemmData& d) {
      f(d.shape(), static_cast<const double*>(d.a()), static_cast<const double*>(d.b()),
        static_cast<double*>(d.c()));
    };
  } else if (type == GemmType::fp32) {
    out.multiply = [f = blas.fp32](const GemmData& d) {
      f(d.shape(), static_cast<const float*>(d.a()), static_cast<const float*>(d.b()),
        static_cast<float*>(d.c()));
    };
  } else {
    return host_blas::Absent{has_no_product(type)};
  }
  return out;
}

template <typename In, typename Out, typename Function>
std::function<void(const GemmData&)> bound(Function f) {
  return [f = std::move(f)](const GemmData& d) {
    f(d.shape(), static_cast<const In*>(d.a()), static_cast<const In*>(d.b()),
      static_cast<Out*>(d.c()));
  };
}

Opened from_onednn(GemmType type, int threads) {
  const auto opened = host_blas::open_onednn(threads);
  if (const auto* absent = std::get_if<host_blas::Absent>(&opened)) return *absent;
  const auto& dnn = std::get<host_blas::Onednn>(opened);
  HostGemm out{"onednn", dnn.identity.version, dnn.identity.core, {}};
  if (type == GemmType::fp64) return host_blas::Absent{"has no fp64 product"};
  if (type == GemmType::fp32) out.multiply = bound<float, float>(dnn.fp32);
  if (type == GemmType::bf16) out.multiply = bound<uint16_t, float>(dnn.bf16);
  if (type == GemmType::int8) out.multiply = bound<int8_t, int32_t>(dnn.int8);
  return out;
}

// A library's threads start when it is loaded or in its first call, and inherit the caller's CPU
// mask. The mask must then hold all CPUs of the team, not the one that the caller is bound to.
Opened wide_at_first(Opened opened, Team& team) {
  if (auto* gemm = std::get_if<HostGemm>(&opened)) {
    gemm->multiply = [f = std::move(gemm->multiply), &team,
                      first = true](const GemmData& d) mutable {
      if (!std::exchange(first, false)) return f(d);
      const KeepAffinity keep;
      bind_thread(team.cpus());
      f(d);
    };
  }
  return opened;
}

}  // namespace

GemmType gemm_type(std::string_view name) {
  for (int i = 0; i < 4; ++i) {
    if (name == kTypeNames[i]) return static_cast<GemmType>(i);
  }
  throw Error(fmt::format("{} is not a type of matrix product", name));
}

const char* gemm_type_name(GemmType type) { return kTypeNames[static_cast<int>(type)]; }

size_t element_bytes(GemmType type) {
  constexpr size_t bytes[] = {8, 4, 2, 1};
  return bytes[static_cast<int>(type)];
}

std::string has_no_product(GemmType type) {
  return fmt::format("has no {} product", gemm_type_name(type));
}

size_t sum_bytes(GemmType type) { return type == GemmType::fp64 ? 8 : 4; }

double gemm_operations(const GemmShape& s) {
  return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

int64_t gemm_bytes(GemmType type, const GemmShape& s) {
  return (s.m * s.k + s.k * s.n) * static_cast<int64_t>(element_bytes(type)) +
         s.m * s.n * static_cast<int64_t>(sum_bytes(type));
}

GemmData::GemmData(GemmType type, const GemmShape& s, uint64_t seed, Team& team)
    : type_(type),
      shape_(s),
      a_(make_pages<char>(static_cast<size_t>(s.m * s.k) * element_bytes(type))),
      b_(make_pages<char>(static_cast<size_t>(s.k * s.n) * element_bytes(type))),
      c_(make_pages<char>(static_cast<size_t>(s.m * s.n) * sum_bytes(type))) {
  fill(team, type, a_.get(), s.m, s.k, seed * 2);
  fill(team, type, b_.get(), s.k, s.n, seed * 2 + 1);
  // The threads that will write C touch its pages first, divided by rows as a library would divide
  // them.
  const size_t row = static_cast<size_t>(s.n) * sum_bytes(type);
  team.run([&](int index) {
    const Range mine = share_of_items(static_cast<size_t>(s.m), team.size(), index);
    std::fill_n(c_.get() + mine.begin * row, mine.size() * row, char{0});
  });
  poison();
}

void GemmData::poison() {
  const auto count = static_cast<size_t>(shape_.m * shape_.n);
  switch (type_) {
    case GemmType::fp64:
      return fill_sums(c_.get(), count, std::numeric_limits<double>::quiet_NaN());
    case GemmType::fp32:
    case GemmType::bf16:
      return fill_sums(c_.get(), count, std::numeric_limits<float>::quiet_NaN());
    case GemmType::int8:
      return fill_sums(c_.get(), count, std::numeric_limits<int32_t>::min());
  }
}

// Makes the seven highest bits of a float's exponent ones, so that it is above 2^126 or no number,
// or flips bit 30 of an int32: no rounding explains it, whatever the element was.
void GemmData::spoil() {
  const auto middle = static_cast<size_t>(shape_.m / 2 * shape_.n + shape_.n / 2);
  auto& highest = c_[(middle + 1) * sum_bytes(type_) - 1];
  if (type_ == GemmType::int8)
    highest ^= 0x40;
  else
    highest |= 0x7f;
}

Opened open_host_gemm(const std::string& library, const std::string& core, GemmType type,
                      Team& team) {
  const KeepAffinity keep;
  bind_thread(team.cpus());
  if (library == "openblas")
    return wide_at_first(from_cblas(library, host_blas::open_openblas(core, team.size()), type),
                         team);
  if (library == "blis")
    return wide_at_first(from_cblas(library, host_blas::open_blis(team.size()), type), team);
  if (library == "onednn") return wide_at_first(from_onednn(type, team.size()), team);
  if (library == "builtin") {
    const std::string isa = builtin_gemm_isas().front();
    return HostGemm{library, "", isa,
                    [&team, isa](const GemmData& d) { builtin_gemm(d, team, isa); }};
  }
  throw Error(fmt::format("{} is not a library of matrix products", library));
}

}  // namespace cb
