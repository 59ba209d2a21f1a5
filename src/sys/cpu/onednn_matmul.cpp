#include "sys/cpu/onednn.h"

namespace cb::onednn {

// Describes one matrix to the library: by a struct in version 2, by a handle in version 3.
struct Matmul::Operand {
  Operand(const Table& table, int64_t rows, int64_t columns, int type) : t(table) {
    const abi::Dims dims{rows, columns};
    if (t.major == 2)
      check(t.memory_desc_init(&bytes, 2, dims, type, abi::kRowMajor),
            "dnnl_memory_desc_init_by_tag");
    else
      check(t.memory_desc_create(&handle, 2, dims, type, abi::kRowMajor),
            "dnnl_memory_desc_create_with_tag");
  }
  ~Operand() {
    if (handle != nullptr) t.memory_desc_destroy(handle);
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  const void* get() const { return handle != nullptr ? handle : static_cast<const void*>(&bytes); }

  const Table& t;
  abi::MemoryBytes bytes;
  abi::Handle handle = nullptr;
};

void Matmul::describe(const Operand (&o)[3]) {
  if (t_.major == 3) {
    check(t_.matmul_create(&description_, engine_, o[0].handle, o[1].handle, nullptr, o[2].handle,
                           nullptr),
          "dnnl_matmul_primitive_desc_create");
    return;
  }
  abi::MatmulBytes bytes;
  check(t_.matmul_desc_init(&bytes, o[0].get(), o[1].get(), nullptr, o[2].get()),
        "dnnl_matmul_desc_init");
  check(t_.primitive_desc_create(&description_, &bytes, nullptr, engine_, nullptr),
        "dnnl_primitive_desc_create (matmul)");
}

Matmul::Matmul(const Table& t, const host_blas::Shape& s, int in, int out) : t_(t), shape_(s) {
  try {
    check(t_.engine_create(&engine_, abi::kCpu, 0), "dnnl_engine_create");
    check(t_.stream_create(&stream_, engine_, abi::kInOrder), "dnnl_stream_create");
    const Operand operands[3] = {{t_, s.m, s.k, in}, {t_, s.k, s.n, in}, {t_, s.m, s.n, out}};
    describe(operands);
    check(t_.primitive_create(&primitive_, description_), "dnnl_primitive_create (matmul)");
    for (int i = 0; i < 3; ++i)
      check(t_.memory_create(&memory_[i], operands[i].get(), engine_, nullptr),
            "dnnl_memory_create");
  } catch (...) {
    destroy();
    throw;
  }
}

Matmul::~Matmul() { destroy(); }

void Matmul::destroy() {
  for (abi::Handle m : memory_)
    if (m != nullptr) t_.memory_destroy(m);
  if (primitive_ != nullptr) t_.primitive_destroy(primitive_);
  if (description_ != nullptr) t_.primitive_desc_destroy(description_);
  if (stream_ != nullptr) t_.stream_destroy(stream_);
  if (engine_ != nullptr) t_.engine_destroy(engine_);
}

bool Matmul::is_for(const host_blas::Shape& s) const {
  return s.m == shape_.m && s.n == shape_.n && s.k == shape_.k;
}

void Matmul::run(const void* a, const void* b, void* c) {
  const void* data[3] = {a, b, c};
  const int place[3] = {abi::kSource, abi::kWeights, abi::kDestination};
  abi::Argument arguments[3];
  for (int i = 0; i < 3; ++i) {
    check(t_.memory_set(memory_[i], const_cast<void*>(data[i])), "dnnl_memory_set_data_handle");
    arguments[i] = {place[i], memory_[i]};
  }
  check(t_.primitive_execute(primitive_, stream_, 3, arguments), "dnnl_primitive_execute");
  check(t_.stream_wait(stream_), "dnnl_stream_wait");
}

}  // namespace cb::onednn
