import type { WireStripeState } from "../../core/schemas/wire.ts";
import type { Db } from "./db.ts";

/** Sets what the stripe accepts, unless its routing version is newer already. Waits for every write in progress. */
export async function updateStripeState(db: Db, state: WireStripeState): Promise<void> {
  await db.query(
    `UPDATE stripe_state SET accepts_creates = ?, accepts_writes = ?, routing_version = ?,
            partition_name = COALESCE(?, partition_name)
      WHERE id = 1 AND role = 'PLACE' AND routing_version <= ?`,
    [
      state.accepts_creates ? 1 : 0,
      state.accepts_writes ? 1 : 0,
      state.routing_version,
      state.partition ?? null,
      state.routing_version,
    ],
  );
}
