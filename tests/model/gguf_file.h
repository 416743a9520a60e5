// SPDX-License-Identifier: Apache-2.0
//
// A GGUF file put together tensor by tensor: for what random-model does not make.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ggml.h"
#include "gguf.h"
#include "weights.h"

namespace juno::test {

struct FreeGguf {
  void operator()(gguf_context* gguf) const { gguf_free(gguf); }
  void operator()(ggml_context* context) const { ggml_free(context); }
};

/// A file's metadata, and its tensors without their data.
class GgufHeader {
 public:
  explicit GgufHeader(const std::filesystem::path& path) {
    ggml_context* tensors = nullptr;
    gguf_.reset(gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = &tensors}));
    tensors_.reset(tensors);
    EXPECT_NE(gguf_, nullptr) << path;
  }
  [[nodiscard]] const gguf_context* metadata() const { return gguf_.get(); }
  [[nodiscard]] std::vector<const ggml_tensor*> tensors() const {
    std::vector<const ggml_tensor*> all;
    for (ggml_tensor* t = ggml_get_first_tensor(tensors_.get()); t != nullptr;
         t = ggml_get_next_tensor(tensors_.get(), t)) {
      all.push_back(t);
    }
    return all;
  }

 private:
  std::unique_ptr<gguf_context, FreeGguf> gguf_;
  std::unique_ptr<ggml_context, FreeGguf> tensors_;
};

class GgufFile {
 public:
  [[nodiscard]] gguf_context* metadata() const { return gguf_.get(); }

  /// Random weights that keep the size of what they multiply.
  void add(const std::string& name, ggml_type type, const std::vector<std::int64_t>& shape) {
    ggml_tensor* tensor = make(name, type, shape);
    const auto* format = random_model::find_weight_format(type);
    ASSERT_NE(format, nullptr) << name;
    random_model::WeightStream stream(*format, 1 / std::sqrt(static_cast<double>(shape[0])), ++seed_);
    stream.fill(data_.back());
    gguf_add_tensor(gguf_.get(), tensor);
  }

  /// The same number everywhere.
  void add_constant(const std::string& name, const std::vector<std::int64_t>& shape, float value) {
    ggml_tensor* tensor = make(name, GGML_TYPE_F32, shape);
    const auto count = static_cast<std::size_t>(ggml_nelements(tensor));
    std::fill_n(reinterpret_cast<float*>(data_.back().data()), count, value);
    gguf_add_tensor(gguf_.get(), tensor);
  }

  void write(const std::filesystem::path& path) const {
    ASSERT_TRUE(gguf_write_to_file(gguf_.get(), path.c_str(), false)) << path;
  }

 private:
  ggml_tensor* make(const std::string& name, ggml_type type, const std::vector<std::int64_t>& shape) {
    ggml_tensor* tensor = ggml_new_tensor(context_.get(), type, static_cast<int>(shape.size()), shape.data());
    ggml_set_name(tensor, name.c_str());
    tensor->data = data_.emplace_back(ggml_nbytes(tensor)).data();
    return tensor;
  }

  std::unique_ptr<gguf_context, FreeGguf> gguf_{gguf_init_empty()};
  std::unique_ptr<ggml_context, FreeGguf> context_{
      ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true})};
  std::deque<std::vector<std::byte>> data_;
  std::uint64_t seed_ = 0;
};

}  // namespace juno::test
