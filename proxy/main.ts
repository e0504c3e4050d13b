import { requireNode } from "../runtime/env.ts";
import { createLogger } from "../runtime/logger.ts";
import { runService } from "../runtime/shutdown.ts";
import { loadProxyConfig } from "./config.ts";
import { Proxy } from "./proxy.ts";

requireNode();

const logger = createLogger("proxy");
try {
  await runService(logger, Proxy.create(loadProxyConfig(), logger));
} catch (error) {
  logger.fatal({ err: error }, "cannot start");
  process.exitCode = 1;
}
