// SPDX-License-Identifier: Apache-2.0
// baton ledger show, tail, stats: reading.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>

#include "base/text.h"
#include "cli/ledger.h"
#include "cli/stores.h"
#include "ledger/entry.h"
#include "ledger/streams.h"
#include "store/tables.h"

namespace baton::cli {
namespace {

struct Filter {
  std::string stream, type, actor, since, until;
  std::uint64_t from = 1, to = UINT64_MAX;
  std::int64_t since_ns = INT64_MIN, until_ns = INT64_MAX;

  bool accepts(const store::EntryRow& row) const {
    // `work.` means every type that begins so.
    const bool of_type = type.empty() || row.type == type || (type.ends_with('.') && row.type.starts_with(type));
    return of_type && (stream.empty() || row.stream == stream) && (actor.empty() || row.actor_id == actor) &&
           row.time >= since_ns && row.time <= until_ns;
  }
};

void add_filter(Command& command, Filter& filter) {
  command.add_option("--stream", filter.stream, "Only entries of this stream");
  command.add_option("--type", filter.type, "Only entries of this type; `ledger.` means all that begin so");
  command.add_option("--actor", filter.actor, "Only entries by this actor");
  command.add_option("--since", filter.since, "Only entries from this UTC time on");
  command.add_option("--until", filter.until, "Only entries up to this UTC time");
}

bool read_times(World& world, Filter& filter) {
  for (const auto& [text, into] :
       {std::pair{&filter.since, &filter.since_ns}, std::pair{&filter.until, &filter.until_ns}}) {
    if (text->empty()) continue;
    const auto time = parse_time(*text).time;
    if (!time) {
      could_not(world,
                "--since and --until take a UTC time such as 2026-11-15T00:00:00Z, not `" + printable(*text, 60) + "`");
      return false;
    }
    *into = time->nanoseconds;
  }
  return true;
}

// Entries in the range that pass the filter. With a stream, blocks that cannot hold it are passed over.
Result<void> read_filtered(store::Reader& reader, const Filter& filter, std::uint64_t size,
                           const store::TakeEntry& take) {
  const std::uint64_t last = std::min(filter.to, size);
  bool more = true;
  const auto read = [&](std::uint64_t first, std::uint64_t end) {
    return reader.entries(first, end, [&](const store::EntryRow& row) {
      if (filter.accepts(row)) more = take(row);
      return more;
    });
  };
  if (filter.stream.empty()) return read(filter.from, last);
  std::vector<std::uint64_t> blocks;
  const std::uint64_t complete = last / 256;
  auto listed = reader.nodes(8, (filter.from - 1) / 256, complete, [&](const store::TreeNode& node) {
    if (ledger::may_hold_stream(node.streams, filter.stream)) blocks.push_back(node.position);
    return true;
  });
  if (!listed) return listed;
  blocks.push_back(size / 256);  // the block that is not complete yet has no row
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (const std::uint64_t block : blocks) {
    const std::uint64_t first = std::max(filter.from, block * 256 + 1), end = std::min(last, (block + 1) * 256);
    if (first > end) continue;
    if (auto done = read(first, end); !done || !more) return done;
  }
  return {};
}

std::string exported(const store::EntryRow& row) {
  std::string line;
  ledger::append_exported(line, row);
  return line + "\n";
}

struct ShowArguments {
  StoreOptions store;
  Filter filter;
  std::uint64_t sequence = 0, limit = UINT64_MAX;
  std::string format = "human";
};

int show(World& world, ShowArguments& arguments) {
  if (!read_times(world, arguments.filter)) return kCouldNot;
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  const auto head = (*reader)->head();
  if (!head) return could_not(world, head.error());
  const bool one = arguments.sequence != 0;
  if (one) arguments.filter.from = arguments.filter.to = arguments.sequence;
  if (arguments.filter.from == 0) arguments.filter.from = 1;
  std::uint64_t shown = 0;
  const auto read = read_filtered(**reader, arguments.filter, head->size, [&](const store::EntryRow& row) {
    if (shown == arguments.limit) return false;
    ++shown;
    world.print(arguments.format == "json" ? exported(row)
                : one                      ? entry_whole(row, world.colour)
                                           : entry_line(row, world.colour));
    return true;
  });
  if (!read) return could_not(world, read.error());
  if (one && shown == 0) {
    could_not(world, "there is no entry " + std::to_string(arguments.sequence) + ": the ledger has " +
                         with_commas(head->size));
    return kNo;
  }
  return kYes;
}

struct TailArguments {
  StoreOptions store;
  Filter filter;
  std::uint64_t count = 10;
  bool follow = false;
  std::string format = "human";
};

volatile std::sig_atomic_t stopped = 0;

int tail(World& world, TailArguments& arguments) {
  if (!read_times(world, arguments.filter)) return kCouldNot;
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto print = [&](const store::EntryRow& row) {
    world.print(arguments.format == "json" ? exported(row) : entry_line(row, world.colour));
    return true;
  };
  std::uint64_t seen = 0;
  {
    const auto reader = (*store)->reader();
    if (!reader) return could_not(world, reader.error());
    const auto head = (*reader)->head();
    if (!head) return could_not(world, head.error());
    seen = head->size;
    // Backwards in blocks until enough have passed the filter.
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t end = seen; end > 0 && chosen.size() < arguments.count;) {
      const std::uint64_t first = end > 1024 ? end - 1023 : 1;
      Filter block = arguments.filter;
      block.from = first;
      block.to = end;
      std::vector<std::uint64_t> found;
      const auto read = read_filtered(**reader, block, seen, [&](const store::EntryRow& row) {
        found.push_back(row.sequence);
        return true;
      });
      if (!read) return could_not(world, read.error());
      chosen.insert(chosen.begin(), found.begin(), found.end());
      end = first - 1;
    }
    if (chosen.size() > arguments.count)
      chosen.erase(chosen.begin(), chosen.end() - static_cast<std::ptrdiff_t>(arguments.count));
    if (!chosen.empty()) {
      Filter rest = arguments.filter;
      rest.from = chosen.front();
      if (auto read = read_filtered(**reader, rest, seen, print); !read) return could_not(world, read.error());
    }
  }
  if (!arguments.follow) return kYes;
  std::signal(SIGINT, [](int) { stopped = 1; });
  std::signal(SIGTERM, [](int) { stopped = 1; });
  while (stopped == 0) {
    if (!world.flush()) return kCouldNot;
    // The wait is cut short so that an interrupt is noticed; nothing is asked of the store meanwhile.
    const auto size = (*store)->wait_for_change(seen, std::chrono::milliseconds(500));
    if (!size) return could_not(world, size.error());
    if (*size <= seen) continue;
    const auto reader = (*store)->reader();
    if (!reader) return could_not(world, reader.error());
    Filter fresh = arguments.filter;
    fresh.from = seen + 1;
    if (auto read = read_filtered(**reader, fresh, *size, print); !read) return could_not(world, read.error());
    seen = *size;
  }
  return kYes;
}

struct StatsArguments {
  StoreOptions store;
  std::string format = "human";
};

// The largest counts first.
std::vector<std::pair<std::string, std::uint64_t>> ranked(const std::map<std::string, std::uint64_t>& counts,
                                                          std::size_t most) {
  std::vector<std::pair<std::string, std::uint64_t>> out(counts.begin(), counts.end());
  std::sort(out.begin(), out.end(), [](const auto& left, const auto& right) {
    return left.second != right.second ? left.second > right.second : left.first < right.first;
  });
  if (out.size() > most) out.resize(most);
  return out;
}

int stats(World& world, const StatsArguments& arguments) {
  const auto store = open_to_read(world, arguments.store.store);
  if (!store) return could_not(world, store.error());
  const auto reader = (*store)->reader();
  if (!reader) return could_not(world, reader.error());
  const auto head = (*reader)->head();
  if (!head) return could_not(world, head.error());
  constexpr std::size_t kStreamsMax = 100'000;  // counted by name; a ledger may have millions
  std::map<std::string, std::uint64_t> types, kinds, streams;
  std::uint64_t payload_bytes = 0, seals = 0, blobs = 0, blob_bytes = 0, erased = 0;
  bool streams_cut = false;
  std::int64_t first_time = 0;
  Progress progress(world, "counting");
  auto read = (*reader)->entries(1, head->size, [&](const store::EntryRow& row) {
    if (row.sequence == 1) first_time = row.time;
    ++types[std::string(row.type)];
    ++kinds[std::string(row.actor_kind)];
    if (const auto known = streams.find(std::string(row.stream)); known != streams.end()) ++known->second;
    else if (streams.size() < kStreamsMax) streams.emplace(row.stream, 1);
    else streams_cut = true;
    payload_bytes += row.payload.size();
    if (row.sequence % 4096 == 0) progress(row.sequence, head->size);
    return true;
  });
  if (read) read = (*reader)->seals(0, INT64_MAX, [&](const store::Seal&) { return ++seals, true; });
  if (read)
    read = (*reader)->find({.table = store::tables::kBlobs}, [&](const store::Row& row) {
      ++blobs;
      if (const auto* bytes = std::get_if<std::string>(&row[1])) blob_bytes += bytes->size();
      else ++erased;
      return true;
    });
  if (!read) return could_not(world, read.error());

  // A file was read into memory: its own name says more.
  const Location location = locate_store(world, arguments.store.store);
  const std::string name = location.kind == LocationKind::ExportedFile ? location.text : (*store)->name();
  const auto time = [](std::int64_t ns) {
    std::string out;
    ledger::append_time(out, ns);
    return out;
  };
  if (arguments.format == "json") {
    json::Value out = json::Value::object();
    out.set("store", name);
    out.set("entries", head->size);
    out.set("first_time", head->size == 0 ? json::Value() : json::Value(time(first_time)));
    out.set("last_time", head->size == 0 ? json::Value() : json::Value(time(head->time)));
    out.set("payload_bytes", payload_bytes);
    out.set("seals", seals);
    out.set("blobs", blobs);
    out.set("blob_bytes", blob_bytes);
    out.set("erased_blobs", erased);
    const auto object = [](const std::map<std::string, std::uint64_t>& counts) {
      json::Value value = json::Value::object();
      for (const auto& [name, count] : counts) value.set(name, count);
      return value;
    };
    out.set("types", object(types));
    out.set("actor_kinds", object(kinds));
    out.set("streams", streams.size());
    out.set("streams_counted_whole", !streams_cut);
    world.print(json::write(out) + "\n");
    return kYes;
  }
  std::string out = name + "\n  entries       " + with_commas(head->size) + "\n";
  if (head->size != 0) out += "  from          " + time(first_time) + "\n  to            " + time(head->time) + "\n";
  out += "  payload       " + with_commas(payload_bytes) + " bytes\n  seals         " + with_commas(seals) +
         "\n  blobs         " + with_commas(blobs) + ", " + with_commas(blob_bytes) + " bytes, " + with_commas(erased) +
         " erased\n  streams       " + with_commas(streams.size()) + (streams_cut ? " or more" : "") + "\n";
  const auto section = [&](const char* title, const std::map<std::string, std::uint64_t>& counts) {
    out += "\n" + std::string(title) + "\n";
    for (const auto& [name, count] : ranked(counts, 12)) {
      std::string number = with_commas(count);
      number.insert(0, number.size() < 12 ? 12 - number.size() : 0, ' ');
      out += "  " + number + "  " + printable(name, 80) + "\n";
    }
  };
  section("types", types);
  section("actors", kinds);
  section("busiest streams", streams);
  world.print(out);
  return kYes;
}

void add_format(Command& command, std::string& format) {
  command.add_option("--format", format, "human or json")->one_of({"human", "json"})->capture_default_str();
}

}  // namespace

void add_ledger_show(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<ShowArguments>();
  Command* command = ledger.add_subcommand("show", "Entries, one a line; or one entry in full");
  command->add_option("SEQUENCE", arguments->sequence, "The number of one entry")->positive();
  add_store_options(*command, arguments->store, false);
  add_filter(*command, arguments->filter);
  command->add_option("--from", arguments->filter.from, "From this entry on");
  command->add_option("--to", arguments->filter.to, "Up to this entry");
  command->add_option("--limit", arguments->limit, "At most so many");
  add_format(*command, arguments->format);
  examples(
      *command,
      "  baton ledger show --stream work/W-12\n  baton ledger show 42\n"
      "  baton ledger show --store export.jsonl --type ledger. --format json\n"
      "\nJSON is one object a line: {\"entry\":{...},\"hash\":\"...\"}. Exit status: 0 shown, 1 no such entry, 2 could "
      "not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return show(world, *arguments); }; });
}

void add_ledger_tail(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<TailArguments>();
  Command* command = ledger.add_subcommand("tail", "The newest entries, and those to come");
  add_store_options(*command, arguments->store, false);
  add_filter(*command, arguments->filter);
  command->add_option("-n,--count", arguments->count, "How many of the newest")->capture_default_str();
  command->add_flag("-f,--follow", arguments->follow, "Wait for further ones, until interrupted");
  add_format(*command, arguments->format);
  examples(*command, "  baton ledger tail -n 3\n  baton ledger tail --follow --type ledger. --format json");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return tail(world, *arguments); }; });
}

void add_ledger_stats(Command& ledger, Action& chosen) {
  auto arguments = std::make_shared<StatsArguments>();
  Command* command = ledger.add_subcommand("stats", "How many entries, of what, by whom, since when");
  add_store_options(*command, arguments->store, false);
  add_format(*command, arguments->format);
  examples(*command, "  baton ledger stats\n  baton ledger stats --store postgresql://baton@db/ledger --format json");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return stats(world, *arguments); }; });
}

}  // namespace baton::cli
