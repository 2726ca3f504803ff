// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/integrity.h"

#include <map>
#include <optional>
#include <set>

#include "diagnostics/diagnostic.h"
#include "store/postgres/sql.h"
#include "store/rows.h"
#include "store/tables.h"

namespace baton::store::postgres {
namespace {

constexpr const char* kSchemaOid = "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())";

// Index, its table, whether the server uses and fills it, its oid, its columns in order.
std::string indexes_sql() {
  return std::string(
             "SELECT i.relname, t.relname, (x.indisvalid AND x.indisready AND x.indislive)::int::bigint, "
             "x.indexrelid::bigint, (SELECT string_agg(pg_get_indexdef(x.indexrelid, n, false), ', ' ORDER BY n) "
             "FROM generate_series(1, x.indnatts::int) AS n) "
             "FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid "
             "WHERE t.relname <> 'baton_schema' AND t.relnamespace = ") +
         kSchemaOid + " ORDER BY 2, 1";
}

// What changes or hides rows, and is never Baton's.
std::string foreign_objects_sql() {
  const std::string here = std::string(" AND c.relnamespace = ") + kSchemaOid;
  return "SELECT 'trigger ' || tgname || ' on ' || c.relname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid "
         "WHERE NOT tgisinternal" +
         here +
         " UNION ALL SELECT 'rule ' || rulename || ' on ' || c.relname FROM pg_rewrite JOIN pg_class c ON c.oid = "
         "ev_class WHERE c.relkind IN ('r', 'p')" +
         here + " UNION ALL SELECT 'row security on ' || c.relname FROM pg_class c WHERE c.relrowsecurity" + here;
}

constexpr const char* kHasAmcheck =
    "SELECT (EXISTS (SELECT 1 FROM pg_proc p JOIN pg_extension e ON e.extname = 'amcheck' AND p.pronamespace = "
    "e.extnamespace WHERE p.proname = 'bt_index_check' AND p.pronargs = 2 AND has_function_privilege(p.oid, "
    "'EXECUTE')))::int::bigint, coalesce((SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON "
    "n.oid "
    "= e.extnamespace WHERE e.extname = 'amcheck'), '')";

// Whichever rows a way of reading gives, in one line: how many, and a sum over all their bytes.
std::string sum_sql(const std::string& table, const std::string& order) {
  return "SELECT count(*) || ' ' || coalesce(sum(hashtextextended(line, 0)), 0) FROM (SELECT t::text AS line FROM \"" +
         table + "\" t" + (order.empty() ? "" : " ORDER BY " + order) + ") q";
}

constexpr const char* kThroughRows =
    "SELECT set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), "
    "set_config('enable_indexonlyscan', 'off', true), set_config('enable_bitmapscan', 'off', true)";
constexpr const char* kThroughIndexes =
    "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true), "
    "set_config('enable_indexonlyscan', 'on', true), set_config('enable_bitmapscan', 'off', true), "
    "set_config('enable_sort', 'off', true), set_config('enable_incremental_sort', 'off', true)";

struct FoundIndex {
  std::string name, table, columns;
  bool complete;
  std::int64_t oid;
};

class Check {
 public:
  explicit Check(Connection& connection) : connection_(connection) {}

  Result<void> run() {
    connection_.send(kBeginReading);
    connection_.send(kReadAtLeisure);
    if (Result<void> done = list(foreign_objects_sql(), "the ", " is not Baton's"); !done) return done;
    if (Result<void> done = read_indexes(); !done) return done;
    if (Result<void> done = compare_indexes(); !done) return done;
    if (Result<void> done = count_unread(); !done) return done;
    return amcheck();
  }
  std::vector<std::string> problems;

 private:
  Result<Rows> ask(const std::string& sql) {
    return connection_.await(connection_.send_once(sql, {}, Connection::Want::Rows));
  }
  Result<std::string> text(const std::string& sql) {
    Result<Rows> rows = ask(sql);
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    return rows->size() == 1 ? std::string(rows->bytes(0, 0)) : std::string();
  }

  Result<void> list(const std::string& sql, const char* before, const char* after) {
    Result<Rows> rows = ask(sql);
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    for (std::size_t row = 0; row < rows->size(); ++row)
      problems.push_back(before + std::string(rows->bytes(row, 0)) + after);
    return {};
  }

  Result<void> read_indexes() {
    Result<Rows> rows = ask(indexes_sql());
    if (!rows) return tl::make_unexpected(std::move(rows.error()));
    std::map<std::string, const FoundIndex*> by_name;
    for (std::size_t row = 0; row < rows->size(); ++row)
      indexes_.push_back({std::string(rows->bytes(row, 0)), std::string(rows->bytes(row, 1)),
                          std::string(rows->bytes(row, 4)), rows->integer(row, 2) != 0, rows->integer(row, 3)});
    for (const FoundIndex& index : indexes_) {
      by_name.emplace(index.name, &index);
      if (!index.complete) problems.push_back("the index " + index.name + " is not complete");
    }
    for (const Table* table : all_tables()) {
      need(by_name, *table, std::string(table->name) + "_pkey", nullptr);
      for (const Index& index : table->indexes) need(by_name, *table, std::string(index.name), &index);
    }
    return {};
  }

  void need(const std::map<std::string, const FoundIndex*>& found, const Table& table, const std::string& name,
            const Index* index) {
    std::string columns;
    for (const std::size_t column : order_of(table, index))
      columns += (columns.empty() ? "" : ", ") + std::string(table.columns[column].name);
    const auto there = found.find(name);
    if (there == found.end() || there->second->table != table.name)
      problems.push_back("the index " + name + " is missing");
    else if (there->second->columns != columns) problems.push_back("the index " + name + " was made otherwise");
  }

  Result<void> compare_indexes() {
    std::map<std::string, std::string> sums;
    if (Result<Rows> set = ask(kThroughRows); !set) return tl::make_unexpected(std::move(set.error()));
    for (const FoundIndex& index : indexes_) {
      if (sums.contains(index.table)) continue;
      Result<std::string> sum = text(sum_sql(index.table, ""));
      if (!sum) return tl::make_unexpected(std::move(sum.error()));
      sums.emplace(index.table, std::move(*sum));
    }
    if (Result<Rows> set = ask(kThroughIndexes); !set) return tl::make_unexpected(std::move(set.error()));
    for (const FoundIndex& index : indexes_) {
      if (!index.complete) continue;
      Result<std::string> sum = text(sum_sql(index.table, index.columns));
      if (!sum) return tl::make_unexpected(std::move(sum.error()));
      if (*sum != sums.at(index.table))
        problems.push_back("the index " + index.name + " does not give the rows of the table " + index.table);
    }
    return {};
  }

  Result<void> count_unread() {
    for (const UnreadRows& one : unread_rows()) {
      Result<Rows> rows = ask("SELECT count(*) FROM " + std::string(one.table) + " WHERE " + std::string(one.where));
      if (!rows) return tl::make_unexpected(std::move(rows.error()));
      if (auto problem = unread_rows_problem(one.table, static_cast<std::uint64_t>(rows->integer(0, 0))))
        problems.push_back(std::move(*problem));
    }
    return {};
  }

  // Last, because what it finds ends the transaction.
  Result<void> amcheck() {
    Result<Rows> there = ask(kHasAmcheck);
    if (!there) return tl::make_unexpected(std::move(there.error()));
    if (there->integer(0, 0) == 0) return {};
    const std::string function = std::string(there->bytes(0, 1)) + ".bt_index_check";
    for (const FoundIndex& index : indexes_) {
      if (!index.complete) continue;
      Result<Rows> done = ask("SELECT " + function + "(" + std::to_string(index.oid) + "::regclass, true)");
      if (done) continue;
      if (done.error().code != info(Code::STORE_CORRUPT).name) return tl::make_unexpected(std::move(done.error()));
      problems.push_back(std::move(done.error().reason));
      return {};
    }
    return {};
  }

  Connection& connection_;
  std::vector<FoundIndex> indexes_;
};

}  // namespace

Result<std::vector<std::string>> check_integrity(Connection& connection) {
  Check check(connection);
  Result<void> done = check.run();
  connection.sync();
  connection.send(kRollback);
  connection.sync();
  if (!done) return tl::make_unexpected(std::move(done.error()));
  return std::move(check.problems);
}

}  // namespace baton::store::postgres
