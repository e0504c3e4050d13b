import { requireNode } from "../runtime/env.ts";
import { createLogger } from "../runtime/logger.ts";
import { runService } from "../runtime/shutdown.ts";
import { readConfig } from "./config.ts";
import { StripeService } from "./service.ts";

requireNode();
try {
  const service = StripeService.create(readConfig());
  await runService(service.logger, service);
} catch (error) {
  createLogger("stripe-service").fatal({ reason: (error as Error).message }, "cannot start");
  process.exitCode = 1;
}
