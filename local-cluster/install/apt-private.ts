import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { type AptSource, parseAptSources } from "./apt-sources.ts";

/** What the machine's apt configuration names; unreadable files count as absent. */
export async function readAptSources(): Promise<AptSource[]> {
  const parts = "/etc/apt/sources.list.d";
  const names = (await readdir(parts).catch(() => [])).filter((name) => /\.(sources|list)$/.test(name)).toSorted();
  const files = ["/etc/apt/sources.list", ...names.map((name) => join(parts, name))];
  const texts = await Promise.all(
    files.map(async (file) => [file, await readFile(file, "utf8").catch(() => "")] as const),
  );
  return texts.flatMap(([file, text]) => parseAptSources(file, text));
}

/** Name of the config file inside the work folder. */
export const APT_CONFIG_FILE = "apt.conf";

/**
 * A config file that takes out the machine's hooks: they are meant for the system's own lists and caches. (A list can
 * only be cleared in a file that is read after the machine's.)
 */
export async function writeAptConfig(work: string): Promise<void> {
  await mkdir(join(work, "lists/partial"), { recursive: true });
  await mkdir(join(work, "cache/archives/partial"), { recursive: true });
  const hooks = ["APT::Update::Pre-Invoke", "APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success"];
  await writeFile(join(work, APT_CONFIG_FILE), `${hooks.map((hook) => `#clear ${hook};`).join("\n")}\n`);
}

/** Options that keep apt-get inside `work`; mirrors, proxies and credentials stay the machine's. */
export function aptOptions(work: string): string[] {
  const settings: Record<string, string> = {
    "Dir::Etc::sourcelist": join(work, "sources.list"),
    "Dir::Etc::sourceparts": "-",
    "Dir::State::lists": join(work, "lists"),
    "Dir::State::status": "/dev/null",
    "Dir::Cache": join(work, "cache"),
    "Dir::Cache::pkgcache": "",
    "Dir::Cache::srcpkgcache": "",
    "Debug::NoLocking": "1",
    "APT::Sandbox::User": userInfo().username,
    "Acquire::Languages": "none",
    "Acquire::Retries": "2",
    "Acquire::http::Timeout": "20",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
  };
  return Object.entries(settings).map(([name, value]) => `-o${name}=${value}`);
}
