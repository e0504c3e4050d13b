// Runs Debian's sysbench with the bench's own script against a source.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { MysqlTarget } from "../../runtime/mysql.ts";
import { ATTACH, DESCRIPTION, NOTIFY_URL, OPENID } from "./content.ts";

const SCRIPT = fileURLToPath(new URL("sysbench/orders.lua", import.meta.url));

export interface SysbenchRun {
  readonly mode: "single" | "batch" | "pay";
  readonly threads: number;
  readonly seconds: number;
  readonly rows?: number;
  readonly first?: number;
}

export interface SysbenchResult {
  readonly transactionsPerSecond: number;
  readonly transactions: number;
  readonly p50Ms: number;
}

let runs = 0;

/** @throws Error with what sysbench said */
export async function runSysbench(target: MysqlTarget, run: SysbenchRun): Promise<SysbenchResult> {
  runs += 1;
  const tag = (Number(process.pid) % 10_000) * 10_000 + runs;
  const options = {
    "mysql-host": target.host,
    "mysql-port": target.port,
    "mysql-user": target.user,
    "mysql-password": target.password,
    "mysql-db": target.database ?? "",
    threads: run.threads,
    time: run.seconds,
    percentile: 50,
    "db-ps-mode": "disable",
    mode: run.mode,
    rows: run.rows ?? 1,
    first: run.first ?? 0,
    tag,
    description: DESCRIPTION,
    attach: ATTACH,
    notify: NOTIFY_URL,
    openid: OPENID,
  };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const output = await outputOf(["sysbench", SCRIPT, ...args, "run"]);
  const number = (pattern: RegExp): number => Number(pattern.exec(output)?.[1] ?? Number.NaN);
  const result = {
    transactionsPerSecond:
      number(/events\/s \(eps\):\s+([\d.]+)/) || number(/total number of events:\s+(\d+)/) / run.seconds,
    transactions: number(/total number of events:\s+(\d+)/),
    p50Ms: number(/50th percentile:\s+([\d.]+)/),
  };
  if (!(result.transactions > 0)) throw new Error(`sysbench ${run.mode} did nothing:\n${output.slice(-1_000)}`);
  return result;
}

function outputOf(argv: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0] ?? "", argv.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    child.once("error", (error) => {
      const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
      reject(missing ? new Error("sysbench is needed: apt-get install sysbench") : error);
    });
    child.once("exit", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`sysbench ended with ${code}:\n${output.slice(-1_000)}`));
    });
  });
}
