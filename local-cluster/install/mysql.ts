import { mkdir, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readEnv } from "../../runtime/env.ts";
import { findProgram, isExecutable, pathExists } from "./run-command.ts";
import { initialiseDataDirectory, mysqldVersion } from "./mysql-initialise.ts";
import { cacheFolder, commonOptions, type MysqlInstall, prefixPrograms, programDigest } from "./mysql-install.ts";
import { finishedPrefixes, makePrefix } from "./mysql-prefix.ts";
import { ProcessLock } from "./process-lock.ts";
import { quietWork, type Work } from "./work.ts";

const LOCK_TIMEOUT_MS = 180_000;

/**
 * MySQL 8.4 or newer that has been seen to run: `MYSQLD`, else `mysqld` on PATH, else the private prefix in the user's
 * cache folder, which is made when it is not there (Debian and Ubuntu).
 * @throws Error that says what was tried and what to do
 */
export async function findOrInstallMysql(work: Work = quietWork): Promise<MysqlInstall> {
  const named = readEnv("MYSQLD");
  if (named !== undefined) return useProgram(named, "MYSQLD", work);
  const onPath = await findProgram("mysqld");
  if (onPath !== undefined) {
    try {
      return await useProgram(onPath, "PATH", work);
    } catch (error) {
      work.tell(`not used: ${firstLines(error)}`);
    }
  }
  const [finished] = await finishedPrefixes(cacheFolder());
  if (finished !== undefined) return usePrefix(finished);
  if (process.platform !== "linux") {
    throw new Error("MySQL 8.4 or newer was not found on PATH: install it (for example `brew install mysql`)");
  }
  try {
    return await usePrefix(await makePrefix(cacheFolder(), work));
  } catch (error) {
    work.signal.throwIfAborted();
    const advice = "Install MySQL 8.4 or newer and put mysqld on PATH or name it in MYSQLD, or use docker compose up.";
    throw new Error(`MySQL could not be set up: ${(error as Error).message}\n${advice}`, { cause: error });
  }
}

function firstLines(error: unknown): string {
  return (error as Error).message.split("\n").slice(0, 2).join(" ").slice(0, 300);
}

async function usePrefix(prefix: string): Promise<MysqlInstall> {
  const programs = await prefixPrograms(prefix);
  const version = prefix.slice(prefix.lastIndexOf("mysql-") + "mysql-".length);
  return { ...programs, version, foundBy: "private prefix", initialisedDir: join(prefix, "initialised") };
}

async function useProgram(path: string, foundBy: "MYSQLD" | "PATH", work: Work): Promise<MysqlInstall> {
  if (!(await isExecutable(path))) throw new Error(`${foundBy} names ${path}, which cannot be run`);
  const mysqld = [path, "--no-defaults", ...commonOptions()];
  const version = await mysqldVersion(mysqld).catch((error: Error) => {
    throw new Error(`${foundBy} names ${path}, but ${error.message}`, { cause: error });
  });
  const initialisedDir = join(cacheFolder(), `initialised-${version}-${await programDigest(path)}`);
  await initialiseOnce(mysqld, initialisedDir, work);
  const client = async (name: string): Promise<string[]> => [await clientProgram(path, name), "--no-defaults"];
  return {
    version,
    foundBy,
    mysqld,
    mysql: await client("mysql"),
    mysqlbinlog: await client("mysqlbinlog"),
    initialisedDir,
  };
}

/** The client beside the server that was named, else on PATH; its bare name fails clearly where it is first run. */
async function clientProgram(mysqld: string, name: string): Promise<string> {
  const beside = [join(dirname(mysqld), name), join(dirname(mysqld), "../bin", name)];
  for (const path of beside) if (await isExecutable(path)) return path;
  return (await findProgram(name)) ?? name;
}

async function initialiseOnce(mysqld: readonly string[], dir: string, { signal }: Work): Promise<void> {
  if (await pathExists(dir)) return;
  await mkdir(cacheFolder(), { recursive: true });
  await using _ = await ProcessLock.acquire(`initialise ${dir}`, LOCK_TIMEOUT_MS, signal, () => {});
  if (await pathExists(dir)) return;
  const unfinished = `${dir}.unfinished-${process.pid}`;
  await initialiseDataDirectory(mysqld, unfinished, signal);
  await rename(unfinished, dir);
}
