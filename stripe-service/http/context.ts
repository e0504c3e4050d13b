import type { Logger } from "../../runtime/logger.ts";
import type { StripeServiceConfig } from "../config.ts";
import type { Database } from "../database.ts";
import type { Faults } from "../faults.ts";
import type { StripeMetrics } from "../metrics.ts";
import type { RefundNumbers } from "../orders/refund-numbers.ts";
import type { ReadinessMonitor } from "../readiness.ts";

/** What the routes work with. */
export interface HttpContext {
  readonly config: StripeServiceConfig;
  readonly database: Database;
  readonly monitor: ReadinessMonitor;
  readonly metrics: StripeMetrics;
  readonly refundNumbers: RefundNumbers;
  readonly faults: Faults;
  readonly logger: Logger;
}
