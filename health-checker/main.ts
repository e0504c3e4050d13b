import { requireNode } from "../runtime/env.ts";
import { runService } from "../runtime/shutdown.ts";

requireNode();
const { loadHealthCheckerConfig } = await import("./config.ts");
const { HealthChecker } = await import("./service.ts");

try {
  const checker = HealthChecker.create(loadHealthCheckerConfig());
  await runService(checker.logger, checker);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
