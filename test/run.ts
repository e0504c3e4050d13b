// `npm test`: the checks, then every test file. One runner, so that its closing lines count everything. Files run one
// after another: many of them start database servers, and two busy cores must not decide a test.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { requireNode } from "../runtime/env.ts";
import { stopSharedCluster } from "./support/shared-cluster.ts";

requireNode();

const HERE = fileURLToPath(new URL(".", import.meta.url));
const FILE_TIMEOUT_MS = 10 * 60_000;
/** Parts of the suite that have their own command and are too long for every run. */
const ELSEWHERE = ["faults/", "containers/"];

function run(command: string, args: readonly string[], env: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, ...env } });
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

const wanted = process.argv.slice(2);
const files = readdirSync(HERE, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts") && (wanted.length > 0 || !ELSEWHERE.some((dir) => path.startsWith(dir))))
  .filter((path) => wanted.length === 0 || wanted.some((part) => path.includes(part)))
  .sort()
  .map((path) => relative(process.cwd(), join(HERE, path)));

const clusterDir = mkdtempSync(join(tmpdir(), "striped-orders-test-"));
let code = wanted.length > 0 ? 0 : await run("npm", ["run", "check"], {});
if (code === 0) {
  const flags = ["--test", "--test-concurrency=1", `--test-timeout=${FILE_TIMEOUT_MS}`];
  code = await run(process.execPath, [...flags, ...files], { TEST_CLUSTER_DIR: clusterDir });
}
await stopSharedCluster(clusterDir);
rmSync(clusterDir, { recursive: true, force: true });
process.exitCode = code;
