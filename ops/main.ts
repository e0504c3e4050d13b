import { requireNode } from "../runtime/env.ts";
import { createLogger } from "../runtime/logger.ts";
import { runService } from "../runtime/shutdown.ts";
import { loadOpsConfig } from "./config.ts";
import { OpsService } from "./ops-service.ts";

requireNode();
const logger = createLogger("ops");
try {
  await runService(logger, OpsService.create(loadOpsConfig(), logger));
} catch (error) {
  logger.fatal({ err: error }, "cannot start");
  process.exitCode = 1;
}
