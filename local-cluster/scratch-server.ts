import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Deadline, sleep } from "../runtime/clock.ts";
import { connect, type MysqlTarget } from "../runtime/mysql.ts";
import { copyDataDirectory } from "./copy-data.ts";
import { scratchAccountSql } from "./db/scratch-accounts-sql.ts";
import { kernelPort } from "./free-port.ts";
import { findOrInstallMysql } from "./install/mysql.ts";
import { findProgram } from "./install/run-command.ts";
import { controlServerOptions } from "./mysqld.ts";

const READY_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 30;
const CONNECT_TIMEOUT_MS = 2_000;
const USER = "scratch";
const PASSWORD = "scratch";

export interface ScratchServer extends AsyncDisposable {
  /** An account that may do everything; no default database. */
  readonly target: MysqlTarget;
  readonly adminPort: number;
  readonly pid: number;
  readonly dataDir: string;
}

/**
 * One real, writable MySQL server on a new empty data directory, for a test: GTID and binary log on, semi-sync not
 * loaded. Dispose ends it and removes its data. It dies with this process, however this process ends (Linux).
 * Takes about a second once MySQL is set up.
 * @param extraOptions appended to the command line, as in `["--innodb-lock-wait-timeout=1"]`
 */
export async function startScratchServer(extraOptions: readonly string[] = []): Promise<ScratchServer> {
  const mysql = await findOrInstallMysql();
  const folder = await mkdtemp(join(tmpdir(), "scratch-mysql-"));
  try {
    return await startIn(folder, mysql.mysqld, mysql.initialisedDir, extraOptions);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function startIn(
  folder: string,
  mysqld: readonly string[],
  initialisedDir: string,
  extraOptions: readonly string[],
): Promise<ScratchServer> {
  const dataDir = join(folder, "data");
  const errorLog = join(folder, "error.log");
  await copyDataDirectory(initialisedDir, dataDir);
  const initFile = join(folder, "init.sql");
  await writeFile(initFile, scratchAccountSql(USER, PASSWORD));
  const [port, adminPort] = await Promise.all([kernelPort(), kernelPort()]);
  const place = { name: "scratch", serverId: 1, dataDir, address: "127.0.0.1", port, adminPort, errorLog };
  const options = controlServerOptions({ ...place, socket: join(folder, "mysql.sock") });
  const argv = [...(await dieWithParent()), ...mysqld, ...options, `--init-file=${initFile}`, ...extraOptions];
  const child = spawn(argv[0] ?? "", argv.slice(1), { stdio: "ignore" });
  const stop = async (): Promise<void> => {
    await stopServer(child);
    await rm(folder, { recursive: true, force: true });
  };
  const target = { host: "127.0.0.1", port, user: USER, password: PASSWORD };
  try {
    await untilAnswers(child, target);
  } catch (error) {
    const log = await readFile(errorLog, "utf8").catch(() => "");
    await stop();
    throw new Error(`${(error as Error).message}\n${log.slice(-2_000)}`, { cause: error });
  }
  return { target, adminPort, dataDir, pid: child.pid ?? 0, [Symbol.asyncDispose]: stop };
}

/** A test that is killed must leave no server behind. */
async function dieWithParent(): Promise<string[]> {
  const setpriv = process.platform === "linux" ? await findProgram("setpriv") : undefined;
  return setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"];
}

async function untilAnswers(child: ChildProcess, target: MysqlTarget): Promise<void> {
  const deadline = new Deadline(READY_TIMEOUT_MS);
  let failure: unknown;
  let lastAnswer: unknown;
  child.once("error", (error) => {
    failure = error;
  });
  while (!deadline.passed) {
    if (child.exitCode !== null || child.signalCode !== null || failure !== undefined) {
      throw new Error("the scratch MySQL server ended while starting", { cause: failure });
    }
    try {
      const connection = await connect(target, CONNECT_TIMEOUT_MS);
      await connection.end();
      return;
    } catch (error) {
      lastAnswer = error;
      await sleep(READY_POLL_MS);
    }
  }
  const why = lastAnswer instanceof Error ? `: ${lastAnswer.message}` : "";
  throw new Error(`the scratch MySQL server could not be used within ${READY_TIMEOUT_MS} ms${why}`);
}

/** Killed, not shut down: nobody will look at its data again. */
async function stopServer(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
