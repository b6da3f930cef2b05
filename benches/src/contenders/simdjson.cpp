// The job of the comparison (src/job.rs) by simdjson On-Demand, as a program of its own: `bench-peers` compiles and
// starts it where a C++ compiler and the library are installed.
//
//     simdjson FILE ROUNDS SLICE_BYTES
//
// Prints one JSON object: for each mode the CPU time in nanoseconds, summed over the slices, of the fastest round of
// each; and the hashes of each slice, which the caller compares with those of the other contenders.

#include <simdjson.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <time.h>
#include <vector>

using namespace simdjson;
using std::string_view;

#define TRY(expression)                   \
  do {                                    \
    if (auto error_ = (expression)) {     \
      return error_;                      \
    }                                     \
  } while (false)

// What is read of a line.
enum class Mode {
  // Every string of the job, decoded.
  Decoded,
  // Every string of the job as written: validated by neither side of the quotes, decoded when read.
  Raw,
  // Kind, ids and subtype as written; everything else is skipped.
  Envelope,
};

// Length, first and last byte, as in src/job/digest.rs.
struct Ends {
  static uint64_t of(string_view text) {
    if (text.empty()) {
      return 0;
    }
    auto byte = [](char value) { return uint64_t(uint8_t(value)); };
    return uint64_t(text.size()) | byte(text.front()) << 48 | byte(text.back()) << 56;
  }
};

// FNV-1a, 64 bits.
struct EveryByte {
  static uint64_t of(string_view text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (char value : text) {
      hash = (hash ^ uint8_t(value)) * 0x0100000001b3;
    }
    return hash;
  }
};

// The numbers of `Tag`.
enum Tag : uint64_t {
  Kind = 1, Uuid, SessionId, ParentToolUseId, MessageId, MessageModel, MessageRole, InputTokens, OutputTokens,
  CacheReadTokens, CacheCreationTokens, MessageText, BlockKind, BlockText, ToolId, ToolName, ToolInput, ToolUseId,
  ToolError, ToolText, ToolPart, EventKind, EventIndex, DeltaKind, DeltaText, StopReason, Subtype, IsError, Cost,
  Turns, ResultText,
};

struct Folded {
  uint64_t events = 0;
  uint64_t hash = 0;
  uint64_t raws = 0;
};

template <class Digest>
class Fold {
 public:
  Folded folded;

  void number(uint64_t tag, uint64_t value) {
    uint64_t own = (tag * 0x9e3779b97f4a7c15) | 1;
    line_ += (value ^ 0xd6e8feb86659fd93) * own;
  }
  void text(uint64_t tag, string_view text) { number(tag, Digest::of(text)); }
  void optional(uint64_t tag, string_view text) {
    if (text.data() != nullptr) {
      this->text(tag, text);
    }
  }
  void raw(uint64_t at, uint64_t length) { folded.raws += mix(ToolInput | at << 8, length); }
  void end_line() {
    folded.hash = mix(folded.hash << 7 | folded.hash >> 57, line_);
    folded.events += 1;
    line_ = 0;
  }

 private:
  uint64_t line_ = 0;

  static uint64_t mix(uint64_t tag, uint64_t value) {
    uint64_t mixed = (value ^ tag * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    return mixed ^ mixed >> 32;
  }
};

constexpr string_view LINE_KINDS[] = {
    "stream_event", "assistant", "user", "system", "result", "control_request", "control_response",
    "control_cancel_request", "keep_alive", "tool_progress", "tool_use_summary", "rate_limit_event", "auth_status",
    "prompt_suggestion", "conversation_reset", "active_goal", "command_lifecycle", "transcript_mirror"};
constexpr string_view BLOCK_KINDS[] = {"text", "thinking", "redacted_thinking", "tool_use",
                                       "server_tool_use", "tool_result", "image", "document"};
constexpr string_view EVENT_KINDS[] = {"content_block_delta", "content_block_start", "content_block_stop",
                                       "message_start", "message_delta", "message_stop", "ping", "error"};
constexpr string_view DELTA_KINDS[] = {"text_delta", "input_json_delta", "thinking_delta", "signature_delta"};

struct Usage {
  uint64_t tokens[4];
  bool has[4] = {};
};

struct Part {
  uint64_t kind = 0;
  string_view text, thinking;

  string_view own_text() const { return kind == 1 ? text : kind == 2 ? thinking : string_view(); }
};

struct Block : Part {
  string_view id, name, tool_use_id, content;
  uint64_t input = 0;
  bool has_input = false, is_error = false, has_parts = false;
  size_t parts = 0, parts_end = 0;
};

struct Message {
  bool is_present = false;
  string_view id, model, role, content;
  Usage usage;
  size_t blocks = 0, blocks_end = 0;
};

struct Event {
  bool is_present = false, has_delta = false, has_block = false;
  uint64_t kind = 0, index = 0, delta_kind = 0;
  string_view text, partial_json, thinking, signature, stop_reason;
  Message message;
  size_t block = 0;
  Usage usage;
};

struct Line {
  uint64_t kind = 0, turns = 0;
  string_view uuid, session_id, parent_tool_use_id, subtype, result;
  Message message;
  Event event;
  Usage usage;
  double cost = 0;
  bool is_error = false, has_cost = false, has_turns = false;
};

bool is(ondemand::raw_json_string key, string_view name) { return key.unsafe_is_equal(name); }

// The token without the white space that may follow it.
string_view token(ondemand::value &value) {
  string_view text = value.raw_json_token();
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r' || text.back() == '\n')) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_of(ondemand::value &value, ondemand::json_type type) {
  ondemand::json_type found;
  return !value.type().get(found) && found == type;
}

string_view as_written(ondemand::value &value) {
  string_view text = token(value);
  return text.substr(1, text.size() - 2);
}

template <size_t N>
uint64_t kind_of(ondemand::value &value, const string_view (&names)[N]) {
  if (!is_of(value, ondemand::json_type::string)) {
    return 0;
  }
  string_view name = as_written(value);
  for (size_t at = 0; at < N; ++at) {
    if (names[at] == name) {
      return at + 1;
    }
  }
  return 0;
}

template <Mode MODE, class Digest>
class Job {
 public:
  Fold<Digest> fold;

  error_code line(ondemand::document_reference document) {
    blocks_.clear();
    parts_.clear();
    Line line;
    ondemand::object object;
    TRY(document.get_object().get(object));
    for (auto result : object) {
      ondemand::field field;
      TRY(std::move(result).get(field));
      auto key = field.key();
      ondemand::value &value = field.value();
      if (is(key, "type")) {
        line.kind = kind_of(value, LINE_KINDS);
      } else if (is(key, "uuid")) {
        TRY(text(value, line.uuid));
      } else if (is(key, "session_id")) {
        TRY(text(value, line.session_id));
      } else if (is(key, "parent_tool_use_id")) {
        TRY(text(value, line.parent_tool_use_id));
      } else if (is(key, "subtype")) {
        TRY(text(value, line.subtype));
      } else if constexpr (MODE != Mode::Envelope) {
        TRY(member(key, value, line));
      }
    }
    add(line);
    fold.end_line();
    return SUCCESS;
  }

 private:
  std::vector<Block> blocks_;
  std::vector<Part> parts_;

  error_code member(ondemand::raw_json_string key, ondemand::value &value, Line &line) {
    if (is(key, "message")) {
      return message(value, line.message);
    } else if (is(key, "event")) {
      return event(value, line.event);
    } else if (is(key, "is_error")) {
      flag(value, line.is_error);
    } else if (is(key, "total_cost_usd")) {
      line.has_cost = is_of(value, ondemand::json_type::number) && !value.get_double().get(line.cost);
    } else if (is(key, "num_turns")) {
      line.has_turns = !value.get_uint64().get(line.turns);
    } else if (is(key, "result")) {
      return text(value, line.result);
    } else if (is(key, "usage")) {
      return usage(value, line.usage);
    }
    return SUCCESS;
  }

  error_code text(ondemand::value &value, string_view &into) {
    if (!is_of(value, ondemand::json_type::string)) {
      return SUCCESS;
    }
    if constexpr (MODE == Mode::Decoded) {
      return value.get_string().get(into);
    }
    into = as_written(value);
    return SUCCESS;
  }

  void flag(ondemand::value &value, bool &into) {
    if (is_of(value, ondemand::json_type::boolean) && value.get_bool().get(into)) {
      into = false;
    }
  }

  template <class Member>
  error_code members(ondemand::value &value, Member &&member) {
    ondemand::object object;
    TRY(value.get_object().get(object));
    for (auto result : object) {
      ondemand::field field;
      TRY(std::move(result).get(field));
      TRY(member(field.key(), field.value()));
    }
    return SUCCESS;
  }

  error_code usage(ondemand::value &value, Usage &usage) {
    if (!is_of(value, ondemand::json_type::object)) {
      return SUCCESS;
    }
    return members(value, [&](ondemand::raw_json_string key, ondemand::value &value) {
      constexpr string_view NAMES[] = {"input_tokens", "output_tokens", "cache_read_input_tokens",
                                       "cache_creation_input_tokens"};
      for (size_t at = 0; at < 4; ++at) {
        if (is(key, NAMES[at])) {
          usage.has[at] = !value.get_uint64().get(usage.tokens[at]);
          break;
        }
      }
      return SUCCESS;
    });
  }

  error_code message(ondemand::value &value, Message &message) {
    if (!is_of(value, ondemand::json_type::object)) {
      return SUCCESS;
    }
    message.is_present = true;
    return members(value, [&](ondemand::raw_json_string key, ondemand::value &value) -> error_code {
      if (is(key, "id")) {
        return text(value, message.id);
      } else if (is(key, "model")) {
        return text(value, message.model);
      } else if (is(key, "role")) {
        return text(value, message.role);
      } else if (is(key, "usage")) {
        return usage(value, message.usage);
      } else if (is(key, "content")) {
        if (!is_of(value, ondemand::json_type::array)) {
          return text(value, message.content);
        }
        message.blocks = blocks_.size();
        ondemand::array array;
        TRY(value.get_array().get(array));
        for (auto element : array) {
          ondemand::value item;
          TRY(std::move(element).get(item));
          TRY(block(item));
        }
        message.blocks_end = blocks_.size();
      }
      return SUCCESS;
    });
  }

  // Appends a block; any other value is skipped.
  error_code block(ondemand::value &value) {
    if (!is_of(value, ondemand::json_type::object)) {
      return SUCCESS;
    }
    Block block;
    TRY(members(value, [&](ondemand::raw_json_string key, ondemand::value &value) -> error_code {
      if (is(key, "type")) {
        block.kind = kind_of(value, BLOCK_KINDS);
      } else if (is(key, "text")) {
        return text(value, block.text);
      } else if (is(key, "thinking")) {
        return text(value, block.thinking);
      } else if (is(key, "id")) {
        return text(value, block.id);
      } else if (is(key, "name")) {
        return text(value, block.name);
      } else if (is(key, "tool_use_id")) {
        return text(value, block.tool_use_id);
      } else if (is(key, "is_error")) {
        flag(value, block.is_error);
      } else if (is(key, "input")) {
        return input(value, block);
      } else if (is(key, "content")) {
        return content(value, block);
      }
      return SUCCESS;
    }));
    blocks_.push_back(block);
    return SUCCESS;
  }

  error_code input(ondemand::value &value, Block &block) {
    string_view raw;
    if (is_of(value, ondemand::json_type::object)) {
      ondemand::object object;
      TRY(value.get_object().get(object));
      TRY(object.raw_json().get(raw));
    } else if (is_of(value, ondemand::json_type::array)) {
      ondemand::array array;
      TRY(value.get_array().get(array));
      TRY(array.raw_json().get(raw));
    } else {
      raw = token(value);
    }
    while (!raw.empty() && raw.back() != '}' && raw.back() != ']' && uint8_t(raw.back()) <= ' ') {
      raw.remove_suffix(1);
    }
    block.has_input = raw != "null";
    block.input = raw.size();
    return SUCCESS;
  }

  error_code content(ondemand::value &value, Block &block) {
    if (!is_of(value, ondemand::json_type::array)) {
      return text(value, block.content);
    }
    block.has_parts = true;
    block.parts = parts_.size();
    ondemand::array array;
    TRY(value.get_array().get(array));
    for (auto element : array) {
      ondemand::value item;
      TRY(std::move(element).get(item));
      if (!is_of(item, ondemand::json_type::object)) {
        continue;
      }
      Part part;
      TRY(members(item, [&](ondemand::raw_json_string key, ondemand::value &value) -> error_code {
        if (is(key, "type")) {
          part.kind = kind_of(value, BLOCK_KINDS);
        } else if (is(key, "text")) {
          return text(value, part.text);
        } else if (is(key, "thinking")) {
          return text(value, part.thinking);
        }
        return SUCCESS;
      }));
      parts_.push_back(part);
    }
    block.parts_end = parts_.size();
    return SUCCESS;
  }

  error_code event(ondemand::value &value, Event &event) {
    if (!is_of(value, ondemand::json_type::object)) {
      return SUCCESS;
    }
    event.is_present = true;
    return members(value, [&](ondemand::raw_json_string key, ondemand::value &value) -> error_code {
      if (is(key, "type")) {
        event.kind = kind_of(value, EVENT_KINDS);
      } else if (is(key, "index")) {
        if (value.get_uint64().get(event.index)) {
          event.index = 0;
        }
      } else if (is(key, "message")) {
        return message(value, event.message);
      } else if (is(key, "content_block")) {
        event.block = blocks_.size();
        TRY(block(value));
        event.has_block = blocks_.size() > event.block;
      } else if (is(key, "delta")) {
        return delta(value, event);
      } else if (is(key, "usage")) {
        return usage(value, event.usage);
      }
      return SUCCESS;
    });
  }

  error_code delta(ondemand::value &value, Event &event) {
    if (!is_of(value, ondemand::json_type::object)) {
      return SUCCESS;
    }
    event.has_delta = true;
    return members(value, [&](ondemand::raw_json_string key, ondemand::value &value) -> error_code {
      if (is(key, "type")) {
        event.delta_kind = kind_of(value, DELTA_KINDS);
      } else if (is(key, "text")) {
        return text(value, event.text);
      } else if (is(key, "partial_json")) {
        return text(value, event.partial_json);
      } else if (is(key, "thinking")) {
        return text(value, event.thinking);
      } else if (is(key, "signature")) {
        return text(value, event.signature);
      } else if (is(key, "stop_reason")) {
        return text(value, event.stop_reason);
      }
      return SUCCESS;
    });
  }

  void add(const Line &line) {
    fold.number(Kind, line.kind);
    if (line.kind != 0) {
      fold.optional(Uuid, line.uuid);
      fold.optional(SessionId, line.session_id);
      fold.optional(ParentToolUseId, line.parent_tool_use_id);
    }
    if (line.kind == 4 || line.kind == 5) {
      fold.optional(Subtype, line.subtype);
    }
    if constexpr (MODE == Mode::Envelope) {
      return;
    }
    if (line.kind == 1) {
      add(line.event);
    } else if (line.kind == 2 || line.kind == 3) {
      add(line.message);
    } else if (line.kind == 5) {
      fold.number(IsError, line.is_error);
      fold.optional(ResultText, line.result);
      if (line.has_cost) {
        uint64_t bits;
        std::memcpy(&bits, &line.cost, sizeof bits);
        fold.number(Cost, bits);
      }
      if (line.has_turns) {
        fold.number(Turns, line.turns);
      }
      add(line.usage);
    }
  }

  void add(const Usage &usage) {
    for (size_t at = 0; at < 4; ++at) {
      if (usage.has[at]) {
        fold.number(InputTokens + at, usage.tokens[at]);
      }
    }
  }

  void add(const Message &message) {
    if (!message.is_present) {
      return;
    }
    fold.optional(MessageId, message.id);
    fold.optional(MessageModel, message.model);
    fold.optional(MessageRole, message.role);
    add(message.usage);
    fold.optional(MessageText, message.content);
    for (size_t at = message.blocks; at < message.blocks_end; ++at) {
      add(blocks_[at], at - message.blocks);
    }
  }

  void add(const Block &block, uint64_t at) {
    uint64_t place = at << 8;
    fold.number(BlockKind | place, block.kind);
    if (block.kind == 1 || block.kind == 2) {
      fold.text(BlockText | place, block.own_text());
    } else if (block.kind == 4 || block.kind == 5) {
      fold.text(ToolId | place, block.id);
      fold.text(ToolName | place, block.name);
      if (block.has_input) {
        fold.raw(at, block.input);
      }
    } else if (block.kind == 6) {
      fold.text(ToolUseId | place, block.tool_use_id);
      fold.number(ToolError | place, block.is_error);
      if (!block.has_parts) {
        fold.optional(ToolText | place, block.content);
      }
      for (size_t part = block.parts; part < block.parts_end; ++part) {
        fold.text(ToolPart | place | uint64_t(part - block.parts) << 32, parts_[part].own_text());
      }
    }
  }

  void add(const Event &event) {
    fold.number(EventKind, event.kind);
    if (event.kind >= 1 && event.kind <= 3) {
      fold.number(EventIndex, event.index);
    }
    if (event.kind == 1) {
      fold.number(DeltaKind, event.has_delta ? event.delta_kind : 0);
      if (event.has_delta && event.delta_kind != 0) {
        const string_view texts[] = {event.text, event.partial_json, event.thinking, event.signature};
        fold.text(DeltaText, texts[event.delta_kind - 1]);
      }
    } else if (event.kind == 2 && event.has_block) {
      add(blocks_[event.block], 0);
    } else if (event.kind == 4) {
      add(event.message);
    } else if (event.kind == 5) {
      fold.optional(StopReason, event.stop_reason);
      add(event.usage);
    }
  }
};

struct Slice {
  const char *data;
  size_t length;
  size_t longest_line;
};

[[noreturn]] void fail(const std::string &why) {
  std::fprintf(stderr, "simdjson: %s\n", why.c_str());
  std::exit(1);
}

template <Mode MODE, class Digest>
Folded run(ondemand::parser &parser, const Slice &slice) {
  Job<MODE, Digest> job;
  // A batch must have its longest document.
  size_t batch = std::max<size_t>(1000000, slice.longest_line + 64);
  ondemand::document_stream stream;
  if (auto error = parser.iterate_many(slice.data, slice.length, batch).get(stream)) {
    fail(error_message(error));
  }
  for (auto result : stream) {
    ondemand::document_reference document;
    auto error = std::move(result).get(document);
    error = error ? error : job.line(document);
    if (error) {
      fail("line " + std::to_string(job.fold.folded.events + 1) + " of a slice: " + error_message(error));
    }
  }
  return job.fold.folded;
}

uint64_t cpu_nanos() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

// Splits as `slices` of src/peers.rs.
std::vector<Slice> slices_of(string_view rest, size_t size) {
  std::vector<Slice> slices;
  while (!rest.empty()) {
    size_t end = rest.size();
    if (rest.size() >= size) {
      size_t found = rest.substr(0, size).rfind('\n');
      found = found == string_view::npos ? rest.find('\n') : found;
      end = found == string_view::npos ? rest.size() : found + 1;
    }
    Slice slice{rest.data(), end, 0};
    for (size_t from = 0; from < end;) {
      size_t to = rest.find('\n', from);
      to = to == string_view::npos ? end : to + 1;
      slice.longest_line = std::max(slice.longest_line, to - from);
      from = to;
    }
    slices.push_back(slice);
    rest.remove_prefix(end);
  }
  return slices;
}

// The results of one mode.
struct Results {
  uint64_t nanos = 0;
  std::vector<Folded> folded;
};

template <Mode MODE>
void time_round(ondemand::parser &parser, const Slice &slice, uint64_t &best, Folded &folded) {
  volatile size_t warmed = 0;
  for (size_t at = 0; at < slice.length; at += 64) {
    warmed = warmed + uint8_t(slice.data[at]);
  }
  uint64_t start = cpu_nanos();
  folded = run<MODE, Ends>(parser, slice);
  best = std::min(best, cpu_nanos() - start);
}

void print(const char *name, const Results &results) {
  std::printf("\"%s\":{\"nanos\":%llu,\"slices\":[", name, (unsigned long long)results.nanos);
  for (size_t at = 0; at < results.folded.size(); ++at) {
    const Folded &it = results.folded[at];
    std::printf("%s{\"events\":%llu,\"hash\":%llu,\"raws\":%llu}", at == 0 ? "" : ",", (unsigned long long)it.events,
                (unsigned long long)it.hash, (unsigned long long)it.raws);
  }
  std::printf("]}");
}

int main(int count, char **arguments) {
  if (count != 4) {
    fail("expected FILE ROUNDS SLICE_BYTES");
  }
  std::ifstream file(arguments[1], std::ios::binary);
  if (!file) {
    fail(std::string("cannot read ") + arguments[1]);
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  size_t length = text.size();
  text.append(SIMDJSON_PADDING, ' ');
  long rounds = std::strtol(arguments[2], nullptr, 10);
  size_t slice_bytes = std::strtoull(arguments[3], nullptr, 10);

  ondemand::parser parser;
#ifdef SIMDJSON_THREADS_ENABLED
  // Only one thread is measured.
  parser.threaded = false;
#endif
  Results decoded, raw, envelope, every_byte;
  for (const Slice &slice : slices_of(string_view(text.data(), length), slice_bytes)) {
    every_byte.folded.push_back(run<Mode::Decoded, EveryByte>(parser, slice));
    uint64_t best[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    Folded folded[3];
    for (long round = 0; round < rounds; ++round) {
      time_round<Mode::Decoded>(parser, slice, best[0], folded[0]);
      time_round<Mode::Raw>(parser, slice, best[1], folded[1]);
      time_round<Mode::Envelope>(parser, slice, best[2], folded[2]);
    }
    Results *all[] = {&decoded, &raw, &envelope};
    for (size_t at = 0; at < 3; ++at) {
      all[at]->nanos += best[at];
      all[at]->folded.push_back(folded[at]);
    }
  }
  // The first is compiled in; the library chooses the second, which finds the structure of a batch.
  std::printf("{\"version\":\"%s\",\"implementation\":\"%s, %s\",", SIMDJSON_STRINGIFY(SIMDJSON_VERSION),
              SIMDJSON_STRINGIFY(SIMDJSON_BUILTIN_IMPLEMENTATION), get_active_implementation()->name().c_str());
  print("decoded", decoded);
  std::printf(",");
  print("raw", raw);
  std::printf(",");
  print("envelope", envelope);
  std::printf(",");
  print("every_byte", every_byte);
  std::printf("}\n");
  return 0;
}
