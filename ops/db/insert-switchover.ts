import { randomUUID } from "node:crypto";
import type { Knex } from "knex";
import { insertAudit } from "./insert-audit.ts";

/** A request that no controller has begun within this time expires. */
const VALID_S = 15;

export interface SwitchoverWish {
  readonly stripe: number;
  readonly tripleId: string;
  /** Server that shall lead; null leaves the choice to the controller. */
  readonly to: string | null;
  readonly actor: string;
  readonly requestId: string;
}

/** Asks the controller that leads the triple for a switchover, with an audit row. @returns the task's id */
export function insertSwitchover(control: Knex, wish: SwitchoverWish): Promise<string> {
  const task = randomUUID();
  return control.transaction(async (trx) => {
    await trx("switchover_requests").insert({
      request_id: task,
      triple_id: wish.tripleId,
      target: wish.to,
      requested_by: wish.actor,
      request_time: trx.raw("UTC_TIMESTAMP(3)"),
      expire_time: trx.raw("UTC_TIMESTAMP(3) + INTERVAL ? SECOND", [VALID_S]),
      state: "WAITING",
    });
    await insertAudit(trx, {
      actor: wish.actor,
      action: "stripe.switchover",
      subject: `stripe/${wish.stripe}`,
      before: null,
      after: { to: wish.to, task },
      requestId: wish.requestId,
    });
    return task;
  });
}
