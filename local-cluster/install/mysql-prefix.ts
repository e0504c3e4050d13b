// MySQL into a private prefix, from the distribution's own mirror, without touching the machine's packages and without
// being root. A prefix that is being made has another name than a finished one, and gets its final name by a rename
// after its mysqld has run: an interrupted or failed set-up never looks complete.
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathExists, runCommand } from "./run-command.ts";
import { APT_CONFIG_FILE, aptOptions, readAptSources, writeAptConfig } from "./apt-private.ts";
import { type Distribution, distributionMirrors, parseDistribution } from "./apt-sources.ts";
import { initialiseDataDirectory, mysqldVersion } from "./mysql-initialise.ts";
import { prefixPrograms } from "./mysql-install.ts";
import { trimPrefix, unwantedPackage } from "./mysql-trim.ts";
import { ProcessLock } from "./process-lock.ts";
import type { Work } from "./work.ts";

const LOCK_TIMEOUT_MS = 15 * 60_000;
const UPDATE_TIMEOUT_MS = 180_000;
const DOWNLOAD_TIMEOUT_MS = 600_000;
const RESOLVE_TIMEOUT_MS = 60_000;
const UNPACK_TIMEOUT_MS = 60_000;
const PACKAGE_NAMES_TRIED: readonly (readonly string[])[] = [
  ["mysql-server-core", "mysql-client-core"],
  ["mysql-server-core-8.4", "mysql-client-core-8.4"],
];
const TRY_TIMEOUT_MS = 20_000;
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
export async function makePrefix(cacheDir: string, work: Work): Promise<string> {
  await mkdir(cacheDir, { recursive: true });
  const lock = ProcessLock.acquire(`install ${cacheDir}`, LOCK_TIMEOUT_MS, work.signal, () =>
    work.tell("waiting for another process that is setting up MySQL"),
  );
  await using _ = await lock;
  const [existing] = await finishedPrefixes(cacheDir);
  if (existing !== undefined) return existing;
  await removeUnfinished(cacheDir);
  const folder = await mkdtemp(join(cacheDir, UNFINISHED));
  try {
    return await new PrefixBuilder(folder, work).build(cacheDir);
  } finally {
    await removeFolder(folder);
  }
}

/** What a killed set-up left; its maker is gone, because we hold the lock. */
async function removeUnfinished(cacheDir: string): Promise<void> {
  const left = (await readdir(cacheDir)).filter((name) => name.startsWith(UNFINISHED));
  await Promise.all(left.map((name) => removeFolder(join(cacheDir, name))));
}

/** A program that was just killed may still write a file or two: tried again. */
function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

class PrefixBuilder {
  readonly #folder: string;
  readonly #work: Work;
  readonly #apt: readonly string[];

  constructor(folder: string, work: Work) {
    this.#folder = folder;
    this.#work = work;
    this.#apt = ["apt-get", "-c", join(folder, APT_CONFIG_FILE), ...aptOptions(folder)];
  }

  /** Tries each mirror of the distribution that the machine's apt names; the last failure is told. */
  async build(cacheDir: string): Promise<string> {
    const distribution = await readDistribution();
    const keyring = await findKeyring(distribution);
    const mirrors = distributionMirrors(await readAptSources(), distribution);
    let failure: unknown = new Error(`apt on this machine names no ${distribution.id} mirror to take MySQL from`);
    await writeAptConfig(this.#folder);
    for (const mirror of mirrors) {
      try {
        const line = `deb [signed-by=${keyring}] ${mirror} ${distribution.suite} ${distribution.components}\n`;
        await writeFile(join(this.#folder, "sources.list"), line);
        this.#work.tell(`fetching the package list of ${distribution.id} ${distribution.suite}`);
        await this.#run([...this.#apt, "update"], UPDATE_TIMEOUT_MS);
        return await this.#finish(await this.#fetchPackages(), cacheDir);
      } catch (error) {
        this.#work.signal.throwIfAborted();
        failure = error;
      }
    }
    throw failure;
  }

  async #fetchPackages(): Promise<string> {
    const packages = (await this.#resolvePackages()).filter((name) => !unwantedPackage(name));
    this.#work.tell(`downloading MySQL and the libraries it needs (${packages.length} packages, about 60 MB)`);
    const debs = join(this.#folder, "debs");
    await mkdir(debs, { recursive: true });
    await this.#run([...this.#apt, "-q", "download", ...packages], DOWNLOAD_TIMEOUT_MS, debs);
    this.#work.tell("unpacking");
    const prefix = join(this.#folder, "prefix");
    for (const deb of await readdir(debs)) await this.#run(["dpkg", "-x", join(debs, deb), prefix], UNPACK_TIMEOUT_MS);
    await trimPrefix(prefix);
    return prefix;
  }

  /** Resolved from nothing (apt is told of no installed package), so that the prefix carries its own C library too. */
  async #resolvePackages(): Promise<string[]> {
    let failure: unknown;
    for (const names of PACKAGE_NAMES_TRIED) {
      try {
        const install = ["-s", "install", "--no-install-recommends", ...names];
        const plan = await this.#run([...this.#apt, ...install], RESOLVE_TIMEOUT_MS);
        return [...plan.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? "");
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** Runs what was unpacked, all of it, before it gets its final name. */
  async #finish(prefix: string, cacheDir: string): Promise<string> {
    const programs = await prefixPrograms(prefix);
    const version = await mysqldVersion(programs.mysqld);
    this.#work.tell(`trying MySQL ${version}`);
    for (const client of [programs.mysql, programs.mysqlbinlog])
      await this.#run([...client, "--version"], TRY_TIMEOUT_MS);
    await initialiseDataDirectory(programs.mysqld, join(prefix, "initialised"), this.#work.signal);
    const finished = join(cacheDir, `mysql-${version}`);
    await rename(prefix, finished);
    return finished;
  }

  #run(argv: readonly string[], timeoutMs: number, cwd?: string): Promise<string> {
    return runCommand(argv, { timeoutMs, signal: this.#work.signal, ...(cwd === undefined ? {} : { cwd }) });
  }
}

async function readDistribution(): Promise<Distribution> {
  const text = await readFile("/etc/os-release", "utf8").catch(() => "");
  const distribution = parseDistribution(text);
  if (distribution !== undefined) return distribution;
  throw new Error("this system is neither Debian nor Ubuntu: install MySQL 8.4 or newer, or name it in MYSQLD");
}

async function findKeyring(distribution: Distribution): Promise<string> {
  for (const keyring of distribution.keyrings) if (await pathExists(keyring)) return keyring;
  const name = distribution.id === "debian" ? "debian-archive-keyring" : "ubuntu-keyring";
  throw new Error(`packages cannot be verified without the distribution's keys; as root: apt-get install -y ${name}`);
}
