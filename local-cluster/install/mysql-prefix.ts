// MySQL into a private prefix, from the distribution's own mirror, without touching the machine's packages and without
// being root. A prefix that is being made has another name than a finished one, and gets its final name by a rename
// after its mysqld has run: an interrupted or failed set-up never looks complete.
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./run-command.ts";
import { aptOptions, readAptSources, writeAptConfig } from "./apt-private.ts";
import { type Distribution, distributionMirrors, parseDistribution } from "./apt-sources.ts";
import { initialiseDataDirectory, mysqldVersion } from "./mysql-initialise.ts";
import { prefixPrograms } from "./mysql-install.ts";
import { trimPrefix, unwantedPackage } from "./mysql-trim.ts";
import { ProcessLock } from "./process-lock.ts";
import type { Progress } from "./progress.ts";

const LOCK_TIMEOUT_MS = 15 * 60_000;
const UPDATE_TIMEOUT_MS = 180_000;
const DOWNLOAD_TIMEOUT_MS = 600_000;
const RESOLVE_TIMEOUT_MS = 60_000;
const UNPACK_TIMEOUT_MS = 60_000;
const PACKAGE_NAMES_TRIED: readonly (readonly string[])[] = [
  ["mysql-server-core", "mysql-client-core"],
  ["mysql-server-core-8.4", "mysql-client-core-8.4"],
];
const UNFINISHED = "unfinished-";

/** Finished prefixes in the cache folder, newest version first. */
export async function finishedPrefixes(cacheDir: string): Promise<string[]> {
  const names = await readdir(cacheDir).catch(() => []);
  const byVersion = (name: string): number[] => name.slice("mysql-".length).split(".").map(Number);
  return names
    .filter((name) => /^mysql-\d+\.\d+\.\d+$/.test(name))
    .toSorted((a, b) => compareLists(byVersion(b), byVersion(a)))
    .map((name) => join(cacheDir, name));
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  const different = a.findIndex((part, i) => part !== b[i]);
  return different === -1 ? 0 : (a[different] ?? 0) - (b[different] ?? 0);
}

/**
 * Makes the private prefix unless another process has made it meanwhile. One process at a time a user.
 * @returns the finished prefix
 * @throws Error that says what is missing and what to do
 */
export async function makePrefix(cacheDir: string, progress: Progress): Promise<string> {
  await mkdir(cacheDir, { recursive: true });
  const lock = ProcessLock.acquire(`install ${cacheDir}`, LOCK_TIMEOUT_MS, () =>
    progress("waiting for another process that is setting up MySQL"),
  );
  await using _ = await lock;
  const [existing] = await finishedPrefixes(cacheDir);
  if (existing !== undefined) return existing;
  await removeUnfinished(cacheDir);
  const work = await mkdtemp(join(cacheDir, UNFINISHED));
  try {
    return await buildPrefix(work, cacheDir, progress);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What a killed set-up left; its maker is gone, because we hold the lock. */
async function removeUnfinished(cacheDir: string): Promise<void> {
  const left = (await readdir(cacheDir)).filter((name) => name.startsWith(UNFINISHED));
  await Promise.all(left.map((name) => rm(join(cacheDir, name), { recursive: true, force: true })));
}

async function buildPrefix(work: string, cacheDir: string, progress: Progress): Promise<string> {
  const distribution = await readDistribution();
  const keyring = await findKeyring(distribution);
  const mirrors = distributionMirrors(await readAptSources(), distribution);
  if (mirrors.length === 0)
    throw new Error(`apt on this machine names no ${distribution.id} mirror to take MySQL from`);
  const config = await writeAptConfig(work);
  let failure: unknown;
  for (const mirror of mirrors) {
    try {
      await writeSourceList(work, keyring, mirror, distribution);
      progress(`fetching the package list of ${distribution.id} ${distribution.suite}`);
      await runCommand(["apt-get", "-c", config, ...aptOptions(work), "update"], { timeoutMs: UPDATE_TIMEOUT_MS });
      const prefix = await fetchPackages(work, config, progress);
      return await finish(prefix, cacheDir, progress);
    } catch (error) {
      failure = error; // the next mirror may carry it; the last failure is told
    }
  }
  throw failure;
}

function writeSourceList(work: string, keyring: string, mirror: string, distribution: Distribution): Promise<void> {
  const line = `deb [signed-by=${keyring}] ${mirror} ${distribution.suite} ${distribution.components}\n`;
  return writeFile(join(work, "sources.list"), line);
}

async function readDistribution(): Promise<Distribution> {
  const text = await readFile("/etc/os-release", "utf8").catch(() => "");
  const distribution = parseDistribution(text);
  if (distribution !== undefined) return distribution;
  throw new Error("this system is neither Debian nor Ubuntu: install MySQL 8.4 or newer, or name it in MYSQLD");
}

async function findKeyring(distribution: Distribution): Promise<string> {
  for (const keyring of distribution.keyrings) {
    const there = await access(keyring).then(
      () => true,
      () => false,
    );
    if (there) return keyring;
  }
  const name = distribution.id === "debian" ? "debian-archive-keyring" : "ubuntu-keyring";
  throw new Error(`packages cannot be verified without the distribution's keys; as root: apt-get install -y ${name}`);
}

async function fetchPackages(work: string, config: string, progress: Progress): Promise<string> {
  const apt = ["apt-get", "-c", config, ...aptOptions(work)];
  const packages = (await resolvePackages(apt)).filter((name) => !unwantedPackage(name));
  progress(`downloading MySQL and the libraries it needs (${packages.length} packages, about 60 MB)`);
  const debs = join(work, "debs");
  await mkdir(debs, { recursive: true });
  await runCommand([...apt, "-q", "download", ...packages], { timeoutMs: DOWNLOAD_TIMEOUT_MS, cwd: debs });
  progress("unpacking");
  const prefix = join(work, "prefix");
  for (const deb of await readdir(debs)) {
    await runCommand(["dpkg", "-x", join(debs, deb), prefix], { timeoutMs: UNPACK_TIMEOUT_MS });
  }
  await trimPrefix(prefix);
  return prefix;
}

/** Resolved from nothing (apt is told of no installed package), so that the prefix carries its own C library too. */
async function resolvePackages(apt: readonly string[]): Promise<string[]> {
  let failure: unknown;
  for (const names of PACKAGE_NAMES_TRIED) {
    try {
      const plan = await runCommand([...apt, "-s", "install", "--no-install-recommends", ...names], {
        timeoutMs: RESOLVE_TIMEOUT_MS,
      });
      return [...plan.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? "");
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Runs what was unpacked, all of it, before it gets its final name. */
async function finish(prefix: string, cacheDir: string, progress: Progress): Promise<string> {
  const programs = await prefixPrograms(prefix);
  const version = await mysqldVersion(programs.mysqld);
  progress(`trying MySQL ${version}`);
  for (const client of [programs.mysql, programs.mysqlbinlog]) {
    await runCommand([...client, "--version"], { timeoutMs: UNPACK_TIMEOUT_MS });
  }
  await initialiseDataDirectory(programs.mysqld, join(prefix, "initialised"));
  const finished = join(cacheDir, `mysql-${version}`);
  await rename(prefix, finished);
  return finished;
}
