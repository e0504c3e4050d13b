import type { Knex } from "knex";

export interface AuditEntry {
  readonly actor: string;
  readonly action: string;
  /** E.g. `stripe/7`. */
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly requestId: string | null;
}

/** Writes one audit row in the transaction of the change it tells of. */
export async function insertAudit(trx: Knex.Transaction, entry: AuditEntry): Promise<void> {
  await trx("audit_log").insert({
    create_time: trx.raw("UTC_TIMESTAMP(3)"),
    actor: entry.actor,
    action: entry.action,
    subject: entry.subject,
    before_value: JSON.stringify(entry.before),
    after_value: JSON.stringify(entry.after),
    request_id: entry.requestId,
  });
}
