// SPDX-License-Identifier: Apache-2.0
//
// The layout follows the GGUF specification (ggml docs/gguf.md), versions 2 and 3, which differ only in that version 3
// allows big-endian files.
#include "gguf/parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "gguf/tensor_type.h"

namespace juno::gguf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF fields are read in place as little-endian");

namespace value_type {
enum : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64, count };
}

constexpr uint64_t kScalarBytes[value_type::count] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr char kMagic[4] = {'G', 'G', 'U', 'F'};
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kMaxKeyBytes = 65535;      // GGUF specification
constexpr uint64_t kMaxTensorNameBytes = 64;  // GGUF specification
constexpr uint64_t kMinKeyValueBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 8 + 4 + 8;

// Bounds on work and memory, far above any real model, that keep a hostile file from costing minutes or gigabytes:
// a sparse file may claim sizes that nobody had to store.
constexpr uint64_t kMaxKeptTextBytes = 64ULL << 20;
constexpr uint64_t kMaxVisitedElements = 64ULL << 20;
constexpr uint64_t kMaxTensors = 1ULL << 20;
constexpr unsigned kMaxArrayDepth = 4;

// Names come from the file, so they may hold anything; an error message must stay one short printable line.
std::string shown(std::string_view text) {
  constexpr std::size_t kMaxShown = 80;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + (text.size() > kMaxShown ? "...'" : "'");
}

std::string number(uint64_t value) { return std::to_string(value); }

bool multiply(uint64_t a, uint64_t b, uint64_t& product) { return !__builtin_mul_overflow(a, b, &product); }

// Every step returns false after recording the first error, so that steps chain with &&.
class Parser {
 public:
  Parser(Source& source, uint64_t file_bytes, std::string name) : source_(source), name_(std::move(name)) {
    header_.file_bytes = file_bytes;
  }

  Result<Header> parse() {
    if (preamble() && metadata() && alignment() && tensors() && placement()) return std::move(header_);
    return std::move(error_);
  }

 private:
  bool fail(ErrorCode code, std::string why) {
    return fail(code, "byte " + number(source_.position()), std::move(why));
  }

  bool fail(ErrorCode code, const std::string& place, std::string why) {
    error_ = Error{code, kReadHeader, name_ + ", " + place, std::move(why)};
    return false;
  }

  bool fail_tensor(ErrorCode code, const TensorInfo& tensor, std::string why) {
    return fail(code, "tensor " + shown(tensor.name), std::move(why));
  }

  bool fail_end(std::string_view field) {
    if (source_.read_error() != 0) {
      return fail(ErrorCode::unreadable, std::generic_category().message(source_.read_error()));
    }
    return fail(ErrorCode::truncated, "the file ends inside " + std::string(field));
  }

  template <class T>
  bool read(T& value, std::string_view field) {
    return source_.read(&value, sizeof value) || fail_end(field);
  }

  bool skip(uint64_t count, std::string_view field) {
    if (count > source_.remaining()) return fail_end(field);
    source_.skip(count);
    return true;
  }

  bool read_text(std::string& text, uint64_t max_bytes, std::string_view field) {
    uint64_t length = 0;
    if (!read(length, field)) return false;
    if (length == 0) return fail(ErrorCode::malformed, std::string(field) + " is empty");
    if (length > max_bytes) {
      return fail(ErrorCode::malformed,
                  std::string(field) + " is " + number(length) + " bytes long, over the limit of " + number(max_bytes));
    }
    if (length > source_.remaining()) return fail_end(field);
    kept_ += length;
    if (kept_ > kMaxKeptTextBytes) return fail(ErrorCode::unsupported, "the header holds too much text");
    text.resize(length);
    return source_.read(text.data(), length) || fail_end(field);
  }

  bool preamble();
  bool metadata();
  bool value(MetadataValue& out, uint32_t type);
  bool string_value(MetadataValue& out);
  bool array_value(ArrayInfo& out, unsigned depth);
  bool alignment();
  bool tensors();
  bool tensor(TensorInfo& out);
  bool tensor_shape(TensorInfo& out, uint32_t dimensions);
  bool tensor_bytes(TensorInfo& out);
  bool placement();
  bool tensor_names_differ();
  bool tensors_do_not_overlap();

  template <class Stored, class Kept>
  bool scalar(MetadataValue& out) {
    Stored stored{};
    if (!read(stored, "a metadata value")) return false;
    out = static_cast<Kept>(stored);
    return true;
  }

  Source& source_;
  std::string name_;
  Header header_;
  Error error_{};
  uint64_t key_count_ = 0;
  uint64_t tensor_count_ = 0;
  uint64_t kept_ = 0;
  uint64_t visited_ = 0;
};

bool Parser::preamble() {
  if (header_.file_bytes == 0) return fail(ErrorCode::truncated, "the file is empty");
  char magic[4] = {};
  const uint64_t present = std::min<uint64_t>(source_.remaining(), sizeof magic);
  if (!source_.read(magic, present)) return fail_end("the magic number");
  if (std::memcmp(magic, kMagic, present) != 0) {
    return fail(ErrorCode::malformed, "byte 0", "not a GGUF file (it does not begin with \"GGUF\")");
  }
  if (present < sizeof magic) return fail_end("the magic number");

  if (!read(header_.version, "the version")) return false;
  if (header_.version != 2 && header_.version != 3) {
    // A small number read in the wrong byte order has only zeros in its low half.
    if (header_.version != 0 && (header_.version & 0xffff) == 0) {
      return fail(ErrorCode::unsupported, "byte 4", "a big-endian GGUF file; only little-endian files are read");
    }
    return fail(ErrorCode::unsupported, "byte 4",
                "GGUF version " + number(header_.version) + "; only versions 2 and 3 are read");
  }
  if (!read(tensor_count_, "the tensor count") || !read(key_count_, "the metadata count")) return false;
  if (tensor_count_ > source_.remaining() / kMinTensorBytes) {
    return fail(ErrorCode::truncated, number(tensor_count_) + " tensors do not fit in the rest of the file");
  }
  if (key_count_ > source_.remaining() / kMinKeyValueBytes) {
    return fail(ErrorCode::truncated, number(key_count_) + " metadata entries do not fit in the rest of the file");
  }
  if (tensor_count_ > kMaxTensors) return fail(ErrorCode::unsupported, "more than " + number(kMaxTensors) + " tensors");
  return true;
}

bool Parser::metadata() {
  for (uint64_t i = 0; i < key_count_; ++i) {
    std::string key;
    uint32_t type = 0;
    MetadataValue kept;
    if (!read_text(key, kMaxKeyBytes, "a metadata key") || !read(type, "a metadata type") || !value(kept, type)) {
      return false;
    }
    const auto [entry, added] = header_.metadata.try_emplace(std::move(key), std::move(kept));
    if (!added) return fail(ErrorCode::malformed, "metadata key " + shown(key) + " appears twice");
  }
  return true;
}

bool Parser::value(MetadataValue& out, uint32_t type) {
  switch (type) {
    case value_type::u8: return scalar<uint8_t, uint64_t>(out);
    case value_type::u16: return scalar<uint16_t, uint64_t>(out);
    case value_type::u32: return scalar<uint32_t, uint64_t>(out);
    case value_type::u64: return scalar<uint64_t, uint64_t>(out);
    case value_type::i8: return scalar<int8_t, int64_t>(out);
    case value_type::i16: return scalar<int16_t, int64_t>(out);
    case value_type::i32: return scalar<int32_t, int64_t>(out);
    case value_type::i64: return scalar<int64_t, int64_t>(out);
    case value_type::f32: return scalar<float, double>(out);
    case value_type::f64: return scalar<double, double>(out);
    case value_type::boolean: return scalar<uint8_t, bool>(out);
    case value_type::text: return string_value(out);
    case value_type::array: {
      ArrayInfo array{};
      if (!array_value(array, 1)) return false;
      out = array;
      return true;
    }
    default: return fail(ErrorCode::malformed, "unknown metadata type " + number(type));
  }
}

bool Parser::string_value(MetadataValue& out) {
  uint64_t length = 0;
  if (!read(length, "a text length")) return false;
  if (length > source_.remaining()) return fail_end("a text value");
  if (length > kMaxKeptTextBytes - std::min(kept_, kMaxKeptTextBytes)) {
    out = ArrayInfo{value_type::u8, length};
    return skip(length, "a text value");
  }
  kept_ += length;
  std::string text(length, '\0');
  if (!source_.read(text.data(), length)) return fail_end("a text value");
  out = std::move(text);
  return true;
}

bool Parser::array_value(ArrayInfo& out, unsigned depth) {
  if (depth > kMaxArrayDepth) return fail(ErrorCode::unsupported, "arrays nested too deeply");
  if (!read(out.element_type, "an array's element type") || !read(out.length, "an array length")) return false;
  if (out.element_type >= value_type::count) {
    return fail(ErrorCode::malformed, "unknown array element type " + number(out.element_type));
  }
  if (const uint64_t element_bytes = kScalarBytes[out.element_type]; element_bytes != 0) {
    uint64_t bytes = 0;
    if (!multiply(out.length, element_bytes, bytes)) {
      return fail(ErrorCode::malformed, "an array of " + number(out.length) + " elements overflows");
    }
    return skip(bytes, "an array");
  }
  // Text has an 8-byte length, a nested array a 12-byte preamble: a count the file cannot hold is refused up front.
  if (out.length > source_.remaining() / 8) return fail_end("an array");
  visited_ += out.length;
  if (visited_ > kMaxVisitedElements) return fail(ErrorCode::unsupported, "the metadata arrays have too many elements");
  for (uint64_t i = 0; i < out.length; ++i) {
    if (out.element_type == value_type::array) {
      ArrayInfo inner{};
      if (!array_value(inner, depth + 1)) return false;
    } else {
      uint64_t length = 0;
      if (!read(length, "a text length") || !skip(length, "a text value")) return false;
    }
  }
  return true;
}

bool Parser::alignment() {
  header_.alignment = kDefaultAlignment;
  const auto entry = header_.metadata.find("general.alignment");
  if (entry == header_.metadata.end()) return true;
  const auto* stored = std::get_if<uint64_t>(&entry->second);
  if (stored == nullptr || *stored > std::numeric_limits<uint32_t>::max() || !std::has_single_bit(*stored)) {
    return fail(ErrorCode::malformed, "general.alignment is not a power of two that fits in 32 bits");
  }
  header_.alignment = *stored;
  return true;
}

bool Parser::tensors() {
  for (uint64_t i = 0; i < tensor_count_; ++i) {
    TensorInfo info{};
    if (!tensor(info)) return false;
    header_.tensors.push_back(std::move(info));
  }
  return true;
}

bool Parser::tensor(TensorInfo& out) {
  uint32_t dimensions = 0;
  if (!read_text(out.name, kMaxTensorNameBytes, "a tensor name") || !read(dimensions, "a tensor's dimension count") ||
      !tensor_shape(out, dimensions) || !read(out.type, "a tensor type") || !read(out.offset, "a tensor offset")) {
    return false;
  }
  return tensor_bytes(out);
}

bool Parser::tensor_shape(TensorInfo& out, uint32_t dimensions) {
  out.shape = {1, 1, 1, 1};
  if (dimensions == 0 || dimensions > out.shape.size()) {
    return fail_tensor(ErrorCode::malformed, out, number(dimensions) + " dimensions; 1 to 4 are possible");
  }
  for (uint32_t i = 0; i < dimensions; ++i) {
    if (!read(out.shape[i], "a tensor shape")) return false;
    if (out.shape[i] == 0) return fail_tensor(ErrorCode::malformed, out, "dimension " + number(i) + " is 0");
  }
  return true;
}

bool Parser::tensor_bytes(TensorInfo& out) {
  const TensorType* type = find_tensor_type(out.type);
  if (type == nullptr) return fail_tensor(ErrorCode::unsupported, out, "unknown tensor type " + number(out.type));
  if (out.shape[0] % type->weights_per_block != 0) {
    return fail_tensor(ErrorCode::malformed, out,
                       "row width " + number(out.shape[0]) + " is not a multiple of " +
                           number(type->weights_per_block) + ", the block of " + std::string(type->name));
  }
  // ggml counts weights in signed 64-bit integers, so a larger count is not a tensor that anything could use.
  uint64_t weights = 1;
  bool fits = true;
  for (const uint64_t extent : out.shape) fits = fits && multiply(weights, extent, weights);
  fits = fits && weights <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
         multiply(weights / type->weights_per_block, type->bytes_per_block, out.bytes);
  return fits || fail_tensor(ErrorCode::malformed, out, "its size overflows");
}

// Turns offsets relative to the data section into file offsets, and checks that each tensor has its bytes to itself.
bool Parser::placement() {
  const uint64_t padding = (header_.alignment - source_.position() % header_.alignment) % header_.alignment;
  header_.data_offset = source_.position() + padding;
  for (TensorInfo& info : header_.tensors) {
    if (info.offset % header_.alignment != 0) {
      return fail_tensor(ErrorCode::malformed, info,
                         "offset " + number(info.offset) + " is not a multiple of " + number(header_.alignment));
    }
    uint64_t end = 0;
    const bool fits = !__builtin_add_overflow(info.offset, header_.data_offset, &info.offset) &&
                      !__builtin_add_overflow(info.offset, info.bytes, &end) && end <= header_.file_bytes;
    if (!fits) {
      return fail_tensor(ErrorCode::truncated, info,
                         "its " + number(info.bytes) + " bytes end beyond the file's " + number(header_.file_bytes));
    }
  }
  return tensor_names_differ() && tensors_do_not_overlap();
}

bool Parser::tensor_names_differ() {
  std::vector<const TensorInfo*> order;
  order.reserve(header_.tensors.size());
  for (const TensorInfo& info : header_.tensors) order.push_back(&info);
  std::ranges::sort(order, {}, [](const TensorInfo* info) { return std::string_view(info->name); });
  const auto same =
      std::ranges::adjacent_find(order, {}, [](const TensorInfo* info) { return std::string_view(info->name); });
  return same == order.end() || fail_tensor(ErrorCode::malformed, **same, "two tensors have this name");
}

bool Parser::tensors_do_not_overlap() {
  std::vector<const TensorInfo*> order;
  order.reserve(header_.tensors.size());
  for (const TensorInfo& info : header_.tensors) order.push_back(&info);
  std::ranges::sort(order, {}, &TensorInfo::offset);
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->offset + order[i - 1]->bytes > order[i]->offset) {
      return fail_tensor(ErrorCode::malformed, *order[i], "it overlaps tensor " + shown(order[i - 1]->name));
    }
  }
  return true;
}

}  // namespace

Result<Header> parse_header(Source& source, uint64_t file_bytes, const std::string& name) {
  return Parser(source, file_bytes, name).parse();
}

}  // namespace juno::gguf
