import { Command } from "commander";
import { requireNode } from "../runtime/env.ts";
import { stopClustersOnSignals } from "./cluster.ts";
import { addFailover } from "./failover/command.ts";
import { addJump } from "./jump/command.ts";
import { addPerformance } from "./perf/command.ts";

requireNode();
stopClustersOnSignals();
const program = new Command("bench").description("Measure, on an ephemeral local cluster; --json keeps the figures");
addFailover(program);
addJump(program);
addPerformance(program);
await program.parseAsync();
