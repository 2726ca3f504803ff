// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/libpq.h"

#include <dlfcn.h>

#include "diagnostics/diagnostic.h"

namespace baton::store::postgres {

Result<std::shared_ptr<const Libpq>> load_libpq(const std::string& library) {
  const std::string doing = "loading " + library;
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    return failure_of(Code::STORE_UNAVAILABLE, doing,
                      {{"problem", "PostgreSQL's client library cannot be loaded (Debian: apt install libpq5): " +
                                       std::string(reason != nullptr ? reason : "no reason given")}});
  }
  auto libpq = std::make_shared<Libpq>();
  const char* missing = nullptr;
#define BATON_LIBPQ_LOOK_UP(name)                                             \
  libpq->name = reinterpret_cast<decltype(&::name)>(::dlsym(handle, #name)); \
  if (libpq->name == nullptr) missing = #name;
  BATON_LIBPQ_FUNCTIONS(BATON_LIBPQ_LOOK_UP)
#undef BATON_LIBPQ_LOOK_UP
  if (missing != nullptr)
    return failure_of(
        Code::STORE_UNAVAILABLE, doing,
        {{"problem", "PostgreSQL's client library is older than version 14: it has no " + std::string(missing)}});
  return libpq;
}

}  // namespace baton::store::postgres
