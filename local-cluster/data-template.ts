// Data directories with a cluster's own accounts. A half-made one has another name until it is complete.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Deadline, sleep } from "../runtime/clock.ts";
import { copyDataDirectory } from "./copy-data.ts";
import { pathExists } from "./install/run-command.ts";
import { closingStatements } from "./db/control-accounts-sql.ts";
import { runAsRoot } from "./db/run-as-root.ts";
import type { ClusterFolder } from "./folder.ts";
import { dataDirectoryOptions } from "./install/mysql-initialise.ts";
import type { MysqlInstall } from "./install/mysql-install.ts";
import { endsWithin } from "./within.ts";

const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 20;
const STOP_TIMEOUT_MS = 30_000;
const LOG_TAIL_CHARS = 2_000;

/** Of a server that only makes data. */
export const bootstrapOptions: readonly string[] = [
  "--loose-mysqlx=OFF",
  "--performance-schema=OFF",
  "--innodb-buffer-pool-size=32M",
  ...dataDirectoryOptions,
];

/**
 * Makes `DIR/mysql/<name>` unless it is there: an initialised data directory on which `statements` were run, with an
 * empty binary log and no server_uuid. No server may run on it before this resolves.
 */
export async function makeDataDirectory(
  folder: ClusterFolder,
  mysql: MysqlInstall,
  name: string,
  statements: readonly string[],
  rootPassword: string,
): Promise<string> {
  const finished = folder.path("mysql", name);
  if (await pathExists(finished)) return finished;
  const unfinished = folder.path("mysql", `${name}.unfinished`);
  await rm(unfinished, { recursive: true, force: true });
  await copyDataDirectory(mysql.initialisedDir, unfinished);
  await runOnce(folder, mysql, name, unfinished, [...statements, ...closingStatements(rootPassword)]);
  await rm(join(unfinished, "auto.cnf"), { force: true });
  await rename(unfinished, finished);
  return finished;
}

/** Starts a server that only its socket reaches, runs the statements and shuts it down. */
async function runOnce(
  folder: ClusterFolder,
  mysql: MysqlInstall,
  name: string,
  dataDir: string,
  statements: readonly string[],
): Promise<void> {
  const socket = folder.socket(`${name}-bootstrap`);
  const logFile = folder.log(`mysqld-${name}-bootstrap`);
  const options = [
    `--datadir=${dataDir}`,
    `--socket=${socket}`,
    "--skip-networking",
    "--log-bin=binlog",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    ...bootstrapOptions,
  ];
  const [file = "", ...args] = [...mysql.mysqld, ...options];
  const log = await open(logFile, "a", 0o600);
  const child = spawn(file, args, { stdio: ["ignore", log.fd, log.fd], detached: true });
  const exited = once(child, "exit");
  const ended = exited.then(() => true).catch(() => true);
  try {
    await untilConnects(socket, ended);
    await runAsRoot(socket, statements);
    child.kill("SIGTERM");
    if (!(await endsWithin(STOP_TIMEOUT_MS, ended))) throw new Error("it did not stop");
  } catch (error) {
    const text = await readFile(logFile, "utf8").catch(() => "");
    throw new Error(
      `the accounts of ${name} could not be made: ${(error as Error).message}\n${text.slice(-LOG_TAIL_CHARS)}`,
      {
        cause: error,
      },
    );
  } finally {
    child.kill("SIGKILL");
    await ended;
    await log.close();
  }
}

async function untilConnects(socket: string, ended: Promise<boolean>): Promise<void> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  const deadline = new Deadline(READY_TIMEOUT_MS);
  for (;;) {
    try {
      return await runAsRoot(socket, []);
    } catch (error) {
      if (over) throw new Error("mysqld ended while starting", { cause: error });
      if (deadline.passed) throw new Error(`mysqld did not answer within ${READY_TIMEOUT_MS} ms`, { cause: error });
      await sleep(POLL_MS);
    }
  }
}
