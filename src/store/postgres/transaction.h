// SPDX-License-Identifier: Apache-2.0
// A Transaction of a PostgreSQL store: READ COMMITTED, in pipeline mode.
//
// Writes and savepoints are sent without waiting for their answers; get(), find(), now() and take_head() wait, and so
// does commit(). A batch whose use cases read nothing takes two round trips: the head, and the commit. A failure is thus
// known at the next of those calls. It can be undone by rolling back to a savepoint when the failed statement stands after
// it; rollback_to_savepoint() fails when it stands before.
//
// find() holds all it finds: a query that could give much has a limit. Its rows come in the order that held when the
// statement began, also where it had to wait for one that was changed meanwhile.
#pragma once

#include <memory>

#include "base/result.h"
#include "store/postgres/listener.h"
#include "store/postgres/pool.h"
#include "store/store.h"

namespace baton::store::postgres {

Result<std::unique_ptr<Transaction>> make_transaction(Lease connection, Listener& listener);

}  // namespace baton::store::postgres
