// SPDX-License-Identifier: Apache-2.0
// What the node remembers between the events of hooks. Nothing depends on it but convenience and speed: what is forgotten (a restart,
// too many) is found again in the store, or is not known and counts as such. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace baton::http_api {

class HookMemory {
 public:
  static constexpr std::size_t kMost = 4096;  // of each kind; then all of that kind are forgotten

  // The governed session of a client's session.
  std::optional<std::string> session(const std::string& key) { return get(sessions_, key); }
  void keep_session(const std::string& key, std::string id) { put(sessions_, key, std::move(id)); }
  void forget_session(const std::string& key) { static_cast<void>(take(sessions_, key)); }

  // How often a session's handoff has been refused at its end, with this time.
  int repair(const std::string& session) {
    const std::lock_guard lock(mutex_);
    if (repairs_.size() >= kMost) repairs_.clear();
    return ++repairs_[session];
  }
  void forget_repairs(const std::string& session) { static_cast<void>(take(repairs_, session)); }

 private:
  template <class T>
  using Map = std::map<std::string, T>;

  template <class T>
  std::optional<T> get(const Map<T>& map, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional<T>(found->second);
  }
  template <class T>
  std::optional<T> take(Map<T>& map, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = map.find(key);
    if (found == map.end()) return std::nullopt;
    std::optional<T> out(std::move(found->second));
    map.erase(found);
    return out;
  }
  template <class T>
  void put(Map<T>& map, const std::string& key, T value) {
    const std::lock_guard lock(mutex_);
    if (map.size() >= kMost) map.clear();
    map.insert_or_assign(key, std::move(value));
  }

  std::mutex mutex_;
  Map<std::string> sessions_;
  Map<int> repairs_;
};

}  // namespace baton::http_api
