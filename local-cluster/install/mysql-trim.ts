import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** Packages that the server's scripts would need, and we run none of them. */
export function unwantedPackage(name: string): boolean {
  return /^(perl|libperl|libgdbm|libdb5|libc-gconv|openssl-provider-legacy)/.test(name);
}

const PROGRAMS_KEPT = new Set(["mysql", "mysqlbinlog", "mysqldump", "mysqladmin"]);
const PLUGINS_KEPT =
  /^(semisync_(source|replica)|mysql_clone|group_replication|component_(log|query|reference|validate)\w*)\.so$/;
const FOLDERS_DROPPED = ["etc", "var", "usr/include", "usr/lib/tmpfiles.d", "usr/lib/systemd"];

/** Removes what a database server does not need to run: documentation, other programs, client-side plugins. */
export async function trimPrefix(prefix: string): Promise<void> {
  const drop = FOLDERS_DROPPED.map((folder) => join(prefix, folder));
  drop.push(...(await others(join(prefix, "usr/bin"), (name) => PROGRAMS_KEPT.has(name))));
  drop.push(...(await others(join(prefix, "usr/sbin"), (name) => name === "mysqld")));
  drop.push(...(await others(join(prefix, "usr/lib/mysql/plugin"), (name) => PLUGINS_KEPT.test(name))));
  drop.push(...(await others(join(prefix, "usr/share"), (name) => name === "mysql")));
  drop.push(...(await others(join(prefix, "usr/lib"), (name) => !/^(debug|python|perl)/.test(name))));
  await Promise.all(drop.map((path) => rm(path, { recursive: true, force: true })));
}

async function others(folder: string, keep: (name: string) => boolean): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => !keep(name)).map((name) => join(folder, name));
}
