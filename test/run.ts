// `npm test`: the checks, then every test file. One runner, so that its closing lines count everything. Files run one
// after another: many of them start database servers, and two busy cores must not decide a test.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { requireNode } from "../runtime/env.ts";
import { stopSharedCluster } from "./support/shared-cluster.ts";

requireNode();

const HERE = fileURLToPath(new URL(".", import.meta.url));
const FILE_TIMEOUT_MS = 10 * 60_000;
/** More than this is no accident. */
const SECOND_RUN_FILES_MAX = 3;
/** Parts of the suite that have their own command: too long for every run, or in need of a container engine. */
const ELSEWHERE = ["faults/disk.", "faults/protocol.", "faults/scenarios.", "faults/takeover."];
if (process.env.TEST_CONTAINERS !== "1") ELSEWHERE.push("containers/");

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
const failedList = join(clusterDir, "failed-files");

/** Runs test files one after another. @returns the exit code and the files in which something failed */
async function runFiles(names: readonly string[]): Promise<{ code: number; failed: string[] }> {
  const reporters = [
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    `--test-reporter=${join(HERE, "support/failed-files.ts")}`,
    `--test-reporter-destination=${failedList}`,
  ];
  const flags = ["--test", "--test-concurrency=1", `--test-timeout=${FILE_TIMEOUT_MS}`, ...reporters];
  const code = await run(process.execPath, [...flags, ...names], { TEST_CLUSTER_DIR: clusterDir });
  const failed = existsSync(failedList) ? readFileSync(failedList, "utf8").split("\n").filter(Boolean) : [];
  return { code, failed };
}

let code = wanted.length > 0 ? 0 : await run("npm", ["run", "check"], {});
if (code === 0) {
  const first = await runFiles(files);
  code = first.code;
  // Real servers are killed and stopped in these files, on a machine that may be busy with something else: what failed
  // is run once more, by itself, and said. What fails twice has failed.
  if (code !== 0 && first.failed.length > 0 && first.failed.length <= SECOND_RUN_FILES_MAX) {
    process.stdout.write(`\nfailed, and run once more: ${first.failed.map((f) => relative(HERE, f)).join(", ")}\n\n`);
    code = (await runFiles(first.failed)).code;
  }
}
await stopSharedCluster(clusterDir);
rmSync(clusterDir, { recursive: true, force: true });
process.exitCode = code;
