// SPDX-License-Identifier: Apache-2.0
//
// The system's regular expressions rather than std::regex, whose recursion ends the process on long patterns and which
// tries some short ones for ever.
#include "juno/pattern.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace juno {
namespace {

constexpr std::size_t kLongest = 1000;
constexpr std::size_t kMostExpanded = 100'000;
constexpr std::size_t kShownCharacters = 60;

/// How many times as often as it is written a part will be compiled: regcomp() writes a repetition out, and that of a
/// repetition again, so that "((((a+)+)+)+)" grows like powers of two, and "((a{99}){99}){99}" takes gigabytes.
struct Repetition {
  std::size_t factor = 1;
  std::size_t length = 0;  ///< characters of the operator; 0: there is none
};

Repetition repetition_at(const std::string& text, std::size_t at) {
  switch (at < text.size() ? text[at] : '\0') {
    case '*':
    case '?': return {1, 1};
    case '+': return {2, 1};
    case '{': break;
    default: return {};
  }
  const std::size_t end = std::min(text.find('}', at), text.size() - 1);
  const std::string bounds = text.substr(at + 1, end - at - 1);
  std::size_t most = 0;
  for (std::size_t i = 0; i < bounds.size(); i = std::min(bounds.find(',', i), bounds.size() - 1) + 1) {
    const unsigned long bound = std::strtoul(bounds.c_str() + i, nullptr, 10);
    most = std::max<std::size_t>(most, std::min<std::size_t>(bound, kMostExpanded));
  }
  return {most + 1, end - at + 1};  // {5,} is five and a repetition
}

/// The characters of a bracket expression that begins at `at`, such as "[^]a]".
std::size_t bracket_length(const std::string& text, std::size_t at) {
  std::size_t end = at + 1;
  if (end < text.size() && text[end] == '^') ++end;
  if (end < text.size() && text[end] == ']') ++end;
  while (end < text.size() && text[end] != ']') {
    const char kind = end + 1 < text.size() ? text[end + 1] : '\0';
    if (text[end] == '[' && (kind == ':' || kind == '.' || kind == '=')) {
      const std::size_t close = text.find(std::string(1, kind) + "]", end + 2);
      if (close == std::string::npos) return text.size() - at;
      end = close + 2;
    } else {
      ++end;
    }
  }
  return std::min(end + 1, text.size()) - at;
}

/// An estimate, from above, of the characters that `text` has once its repetitions are written out; no more than
/// kMostExpanded + 1.
std::size_t expanded_size(const std::string& text) {
  std::vector<std::size_t> groups = {0};  // of each group that is open: what is in it so far
  for (std::size_t at = 0; at < text.size();) {
    std::size_t atom = 1;
    const char c = text[at];
    if (c == '(') {
      groups.push_back(1);
      ++at;
      continue;
    }
    if (c == ')' && groups.size() > 1) {
      atom = groups.back() + 1;
      groups.pop_back();
      ++at;
    } else if (c == '[') {
      at += bracket_length(text, at);
    } else {
      at += c == '\\' ? 2 : 1;
    }
    for (Repetition next = repetition_at(text, at); next.length != 0; next = repetition_at(text, at)) {
      atom = std::min((atom + 1) * next.factor, kMostExpanded + 1);
      at += next.length;
    }
    groups.back() = std::min(groups.back() + atom, kMostExpanded + 1);
  }
  std::size_t all = 0;
  for (const std::size_t group : groups) all += group;
  return std::min(all, kMostExpanded + 1);
}

/// Back-references are no part of extended expressions; glibc has them all the same, and tries some for ever.
bool has_back_reference(const std::string& text) {
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] != '\\') continue;
    ++at;
    if (text[at] >= '1' && text[at] <= '9') return true;
  }
  return false;
}

}  // namespace

struct Pattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (code == 0) regfree(&expression);
  }

  regex_t expression{};
  int code = -1;  ///< what regcomp() said
};

Result<Pattern> Pattern::compile(std::string_view text, std::string_view source) {
  const std::string pattern(text);
  const auto failure = [&](std::string why) {
    return Error{ErrorCode::invalid_argument, "read the pattern of " + std::string(source),
                 "'" + pattern.substr(0, kShownCharacters) + (pattern.size() > kShownCharacters ? "..." : "") + "'",
                 std::move(why)};
  };
  if (pattern.empty()) return failure("it is empty");
  if (pattern.size() > kLongest) return failure("a pattern of more than 1000 characters");
  if (pattern.find('\0') != std::string::npos) return failure("it holds a zero byte");
  if (has_back_reference(pattern)) return failure("back-references are no part of extended regular expressions");
  if (expanded_size(pattern) > kMostExpanded) return failure("its repetitions are too many");
  const auto compiled = std::make_shared<Compiled>();
  compiled->code = regcomp(&compiled->expression, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (compiled->code != 0) {
    std::array<char, 200> why{};
    regerror(compiled->code, &compiled->expression, why.data(), why.size());
    return failure(why.data());
  }
  Pattern result;
  result.compiled_ = compiled;
  result.source_ = source;
  return result;
}

bool Pattern::finds(std::string_view name) const {
  return compiled_ != nullptr && regexec(&compiled_->expression, std::string(name).c_str(), 0, nullptr, 0) == 0;
}

}  // namespace juno
