import type { StripeRow, Temperature } from "../../core/routing-table.ts";
import type { StripeNo } from "../../core/ids.ts";

/** Row of `stripes` in the control database. */
export interface StripeDbRow {
  stripe: number;
  version: number;
  place: number;
  triple_id: string;
  temperature: Temperature;
  weight: number;
  partition_name: string;
  blocked: number;
  /** JSON array of base URLs; the driver parses it. */
  services: string[];
  create_time: string;
  update_time: string;
}

/** Row of `audit_log`. */
export interface AuditDbRow {
  id: number;
  create_time: string;
  actor: string;
  action: string;
  subject: string;
  before_value: unknown;
  after_value: unknown;
  request_id: string | null;
}

export function toStripeRow(row: StripeDbRow): StripeRow {
  return {
    stripe: row.stripe as StripeNo,
    version: row.version,
    place: row.place,
    tripleId: row.triple_id,
    temperature: row.temperature,
    weight: row.weight,
    partition: row.partition_name,
    blocked: row.blocked !== 0,
    services: row.services,
  };
}
