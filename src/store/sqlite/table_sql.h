// SPDX-License-Identifier: Apache-2.0
// The statements on a table, made of its description. Pure.
#pragma once

#include <string>

#include "store/value.h"

namespace baton::store::sqlite {

// Parameters are numbered as the columns are, from 1: ?1 is the first column.
std::string get_sql(const Table& table);     // by the columns of the key
std::string insert_sql(const Table& table);  // every column
std::string update_sql(const Table& table);  // every column; the row is found by those of the key
std::string erase_sql(const Table& table);   // by the columns of the key

// Parameters: the values of `equal`, then `from` and `below` if they hold something, then the limit (-1: none).
std::string find_sql(const Query& query);
// The same text for queries that differ in nothing but values, and different ones for all others: what a statement is
// kept under. Appended to `name`.
void append_find_name(const Query& query, std::string& name);

}  // namespace baton::store::sqlite
