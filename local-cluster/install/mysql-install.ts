import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { readEnv } from "../../runtime/env.ts";

/** MySQL programs that have been seen to run. Each is an argv prefix: append a program's own options. */
export interface MysqlInstall {
  readonly version: string;
  readonly foundBy: "MYSQLD" | "PATH" | "private prefix";
  /** Begins the command line of every server: program, `--no-defaults`, where its files are. */
  readonly mysqld: readonly string[];
  readonly mysql: readonly string[];
  readonly mysqlbinlog: readonly string[];
  /** An initialised, password-free data directory of this version: copy it, never start a server on it. */
  readonly initialisedDir: string;
}

/** The folder in the user's cache that holds what was fetched or made once: shared by clones, safe to delete. */
export function cacheFolder(): string {
  return join(readEnv("XDG_CACHE_HOME") ?? join(homedir(), ".cache"), "striped-orders");
}

/** Options that tell mysqld where the private prefix's files are. */
function prefixOptions(prefix: string): string[] {
  return ["--no-defaults", `--basedir=${prefix}/usr`, `--plugin-dir=${prefix}/usr/lib/mysql/plugin`];
}

/**
 * Command lines of the programs in a private prefix, which run on the prefix's own C library.
 * @throws Error when the prefix has no dynamic loader
 */
export async function prefixPrograms(prefix: string): Promise<Pick<MysqlInstall, "mysqld" | "mysql" | "mysqlbinlog">> {
  const run = await loaderArgv(prefix);
  return {
    mysqld: [...run, `${prefix}/usr/sbin/mysqld`, ...prefixOptions(prefix), ...commonOptions()],
    mysql: [...run, `${prefix}/usr/bin/mysql`, "--no-defaults"],
    mysqlbinlog: [...run, `${prefix}/usr/bin/mysqlbinlog`, "--no-defaults"],
  };
}

/** The machine's architecture is told by the loader that was unpacked, not assumed. */
async function loaderArgv(prefix: string): Promise<string[]> {
  const lib = join(prefix, "usr/lib");
  for (const triplet of await readdir(lib)) {
    if (!/-linux-gnu/.test(triplet)) continue;
    const loader = (await readdir(join(lib, triplet))).find((name) => /^ld-linux.*\.so\.\d+$/.test(name));
    if (loader === undefined) continue;
    return [join(lib, triplet, loader), "--library-path", `${join(lib, triplet)}:${lib}`];
  }
  throw new Error(`no dynamic loader in ${lib}`);
}

/** Options that every server of ours has wherever its program comes from. */
export function commonOptions(): string[] {
  return ["--secure-file-priv=NULL", ...(process.getuid?.() === 0 ? ["--user=root"] : [])];
}

/** Names a program's initialised data directory: another build of the same version gets its own. */
export async function programDigest(path: string): Promise<string> {
  const { size, mtimeMs } = await stat(path);
  return createHash("sha256").update(`${path} ${size} ${mtimeMs}`).digest("hex").slice(0, 12);
}
