import { requireNode } from "../runtime/env.ts";
import { runService } from "../runtime/shutdown.ts";
import { AgentsProcess } from "./agents-process.ts";
import { loadAgentsConfig } from "./config.ts";

requireNode();
const agents = AgentsProcess.create(loadAgentsConfig());
await runService(agents.logger, agents);
