import { DomainError } from "../../core/errors.ts";
import type { WireStripeState } from "../../core/schemas/wire.ts";
import { updateStripeState } from "../db/update-stripe-state.ts";
import { done, type Fence, type Outcome, refused, type Tx } from "./tx.ts";

export function stripeStateView(fence: Fence): WireStripeState {
  return {
    accepts_creates: fence.acceptsCreates,
    accepts_writes: fence.acceptsWrites,
    routing_version: fence.routingVersion,
    ...(fence.partition === null ? {} : { partition: fence.partition }),
  };
}

/**
 * Sets what the stripe accepts; the fence must have been read FOR UPDATE: once this has committed, nothing of the old
 * kind is under way. A routing version that would fall: STATE_NOT_ALLOWED.
 */
export async function setStripeState(tx: Tx, state: WireStripeState): Promise<Outcome<WireStripeState>> {
  const { routingVersion } = tx.fence;
  if (state.routing_version < routingVersion) {
    return refused(
      new DomainError("STATE_NOT_ALLOWED", `the routing version is ${routingVersion} already`, {
        conflict: { routing_version: routingVersion },
      }),
    );
  }
  await updateStripeState(tx.db, state);
  await tx.journal({ type: "STRIPE_STATE_CHANGED", data: { ...state } });
  return done(state);
}
