import { requireNode } from "../runtime/env.ts";
import { runLauncher } from "./launcher.ts";
import { parseOptions } from "./options.ts";

requireNode();
await runLauncher(parseOptions(process.argv));
