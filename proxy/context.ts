import type { Deadline } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Limits } from "./config.ts";
import type { VerdictSource } from "./health/verdict-source.ts";
import type { ProxyMetrics } from "./metrics.ts";
import type { CoalescedCreates } from "./orders/coalesce.ts";
import type { Readmission } from "./orders/readmission.ts";
import type { TableSource } from "../runtime/routing/table-source.ts";
import type { Fleet } from "./upstream/fleet.ts";

/** What every operation of the proxy needs. */
export interface ProxyContext {
  readonly limits: Limits;
  readonly tables: TableSource;
  readonly fleet: Fleet;
  readonly verdicts: VerdictSource;
  readonly creates: CoalescedCreates;
  readonly readmission: Readmission;
  readonly metrics: ProxyMetrics;
  readonly logger: Logger;
}

/** What belongs to one merchant request. */
export interface RequestContext {
  readonly requestId: string;
  readonly deadline: Deadline;
  /** `Request-Id` and `traceparent` for the calls that serve this request. */
  readonly wireHeaders: Readonly<Record<string, string>>;
}
