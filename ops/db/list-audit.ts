import type { Knex } from "knex";
import { fromDbTime } from "../../core/time.ts";
import type { AuditDbRow } from "./tables.ts";

export const AUDIT_PAGE_MAX = 200;

/** The newest audit rows first; `before` continues an earlier page, `subject` narrows to one thing. */
export async function listAudit(
  control: Knex,
  filter: { readonly subject?: string | undefined; readonly before?: number | undefined; readonly limit: number },
): Promise<object[]> {
  const query = control<AuditDbRow>("audit_log").orderBy("id", "desc").limit(Math.min(filter.limit, AUDIT_PAGE_MAX));
  if (filter.subject !== undefined) void query.where("subject", filter.subject);
  if (filter.before !== undefined) void query.where("id", "<", filter.before);
  const rows = (await query) as AuditDbRow[];
  return rows.map((row) => ({
    id: row.id,
    time: fromDbTime(row.create_time),
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    before: row.before_value,
    after: row.after_value,
    request_id: row.request_id,
  }));
}
