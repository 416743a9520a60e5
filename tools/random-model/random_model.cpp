// SPDX-License-Identifier: Apache-2.0
#include "random_model.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <span>

#include "base/hash.h"
#include "base/output_file.h"
#include "gguf/tensor_type.h"
#include "plan.h"
#include "weights.h"

namespace juno::random_model {
namespace {

// Large enough that the cost of a system call vanishes, small enough to stay in the caches until it is written.
constexpr std::size_t kChunkBytes = 1U << 20;
constexpr uint64_t kAlignment = 32;  // of a GGUF file that does not say otherwise

uint64_t tensor_seed(const Options& options, const PlannedTensor& tensor) {
  return Fnv1a().add(options.seed).add(tensor.name).value();
}

uint64_t tensor_bytes(const PlannedTensor& tensor) {
  const gguf::TensorType& type = *gguf::find_tensor_type(tensor.type);
  const uint64_t rows = std::max<uint64_t>(tensor.rows, 1) * std::max<uint64_t>(tensor.matrices, 1);
  return tensor.width / type.weights_per_block * rows * type.bytes_per_block;
}

Status write_norm(OutputFile& output, const PlannedTensor& tensor, uint64_t seed) {
  std::vector<float> values(tensor.width);
  fill_norm(values, seed);
  return output.write(std::as_bytes(std::span(values)));
}

Status write_matrix(OutputFile& output, const PlannedTensor& tensor, uint64_t seed, std::vector<std::byte>& buffer) {
  const gguf::TensorType& type = *gguf::find_tensor_type(tensor.type);
  // With inputs of unit size and this deviation, every matrix keeps the size of what passes through it.
  const double deviation = 1.0 / std::sqrt(static_cast<double>(tensor.width));
  WeightStream stream(*find_weight_format(tensor.type), deviation, seed);
  // WeightStream wants whole blocks and multiples of 8 bytes.
  const std::size_t unit = std::size_t{8} * type.bytes_per_block;
  buffer.resize(kChunkBytes / unit * unit);
  uint64_t left = tensor_bytes(tensor);
  while (left > 0) {
    const auto chunk = std::span(buffer).first(std::min<uint64_t>(left, buffer.size()));
    stream.fill(chunk);
    if (Status written = output.write(chunk); !written.ok()) return written;
    left -= chunk.size();
  }
  return Done{};
}

Status write_model(const std::filesystem::path& path, const Options& options) {
  const auto plan = make_plan(options);
  if (!plan.ok()) return plan.error();
  OutputFile output(kWhat, path);
  if (Status opened = output.open(); !opened.ok()) return opened;
  const auto metadata = make_metadata(*plan);
  if (!metadata.ok()) return metadata.error();
  if (Status written = output.write(std::as_bytes(std::span(metadata->bytes))); !written.ok()) return written;

  std::vector<std::byte> buffer;
  uint64_t position = 0;
  for (std::size_t i = 0; i < plan->tensors.size(); ++i) {
    const PlannedTensor& tensor = plan->tensors[i];
    const std::vector<std::byte> padding(metadata->offsets[i] - position);
    if (Status written = output.write(padding); !written.ok()) return written;
    const uint64_t seed = tensor_seed(options, tensor);
    Status written = tensor.rows == 0 ? write_norm(output, tensor, seed) : write_matrix(output, tensor, seed, buffer);
    if (!written.ok()) return written;
    position = metadata->offsets[i] + tensor_bytes(tensor);
  }
  // GGUF pads the last tensor as well, and ggml reads that padding.
  const std::vector<std::byte> padding((kAlignment - position % kAlignment) % kAlignment);
  if (Status written = output.write(padding); !written.ok()) return written;
  return output.finish();
}

}  // namespace

Status write_random_model(const std::filesystem::path& path, const Options& options) {
  try {
    return write_model(path, options);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, kWhat, path.string(), "not enough memory"};
  }
}

}  // namespace juno::random_model
