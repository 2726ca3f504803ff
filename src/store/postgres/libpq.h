// SPDX-License-Identifier: Apache-2.0
// libpq, loaded when the first PostgreSQL URL is used and never before: it brings some twenty further libraries, which
// would cost every start of a program that keeps its ledger in a folder.
//
// Only libpq's headers are needed to build. The functions are members of their own names: `libpq->PQclear(result)`.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace baton::store::postgres {

// Everything of libpq that Baton calls.
#define BATON_LIBPQ_FUNCTIONS(FUNCTION) \
  FUNCTION(PQclear)                     \
  FUNCTION(PQcmdStatus)                 \
  FUNCTION(PQcmdTuples)                 \
  FUNCTION(PQconndefaults)              \
  FUNCTION(PQconnectPoll)               \
  FUNCTION(PQconnectStartParams)        \
  FUNCTION(PQconninfoFree)              \
  FUNCTION(PQconninfoParse)             \
  FUNCTION(PQconsumeInput)              \
  FUNCTION(PQenterPipelineMode)         \
  FUNCTION(PQerrorMessage)              \
  FUNCTION(PQexitPipelineMode)          \
  FUNCTION(PQfinish)                    \
  FUNCTION(PQflush)                     \
  FUNCTION(PQfreemem)                   \
  FUNCTION(PQgetisnull)                 \
  FUNCTION(PQgetlength)                 \
  FUNCTION(PQgetResult)                 \
  FUNCTION(PQgetvalue)                  \
  FUNCTION(PQisBusy)                    \
  FUNCTION(PQnfields)                   \
  FUNCTION(PQnotifies)                  \
  FUNCTION(PQntuples)                   \
  FUNCTION(PQparameterStatus)           \
  FUNCTION(PQpass)                      \
  FUNCTION(PQpipelineSync)              \
  FUNCTION(PQresultErrorField)          \
  FUNCTION(PQresultErrorMessage)        \
  FUNCTION(PQresultStatus)              \
  FUNCTION(PQsendPrepare)               \
  FUNCTION(PQsendQueryParams)           \
  FUNCTION(PQsendQueryPrepared)         \
  FUNCTION(PQsetNoticeProcessor)        \
  FUNCTION(PQsetnonblocking)            \
  FUNCTION(PQsocket)                    \
  FUNCTION(PQstatus)

struct Libpq {
#define BATON_LIBPQ_MEMBER(name) decltype(&::name) name = nullptr;
  BATON_LIBPQ_FUNCTIONS(BATON_LIBPQ_MEMBER)
#undef BATON_LIBPQ_MEMBER
};

// The file the dynamic linker is asked for.
constexpr const char* kLibpq = "libpq.so.5";

// STORE_UNAVAILABLE when it is not installed or is older than PostgreSQL 14, which brought pipelines. Once loaded it
// stays until the process ends: the libraries below it cannot be unloaded safely.
Result<std::shared_ptr<const Libpq>> load_libpq(const std::string& library = kLibpq);

}  // namespace baton::store::postgres
