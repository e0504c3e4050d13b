import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SOCKET_PATH_CHARS_MAX } from "./mysqld.ts";

const LONGEST_SOCKET_NAME = "control-bootstrap.sock";

/** Where everything of one cluster lies. */
export class ClusterFolder {
  readonly dir: string;
  /** Unix sockets: inside `dir` unless its path is too long for one. */
  readonly sockets: string;
  /** Removed with all its content at the end. */
  readonly ephemeral: boolean;

  private constructor(dir: string, ephemeral: boolean) {
    this.dir = dir;
    this.ephemeral = ephemeral;
    this.sockets = socketFolder(dir);
  }

  /**
   * Opens (or makes) the folder of a cluster. An ephemeral cluster gets a new empty folder: in `dir` when that is
   * given, else among the system's temporary files.
   */
  static async open(dir: string | undefined, ephemeral: boolean): Promise<ClusterFolder> {
    if (dir !== undefined) await mkdir(dir, { recursive: true });
    const parent = dir ?? (ephemeral ? tmpdir() : resolve(".local-cluster"));
    await mkdir(parent, { recursive: true });
    const path = ephemeral ? await mkdtemp(join(await realpath(parent), "striped-orders-")) : await realpath(parent);
    const folder = new ClusterFolder(path, ephemeral);
    for (const name of ["logs", "run", "cache", "mysql", "agents", "haproxy"]) {
      await mkdir(join(path, name), { recursive: true, mode: 0o700 });
    }
    await mkdir(folder.sockets, { recursive: true, mode: 0o700 });
    await chmod(folder.sockets, 0o700);
    return folder;
  }

  path(...parts: string[]): string {
    return join(this.dir, ...parts);
  }

  log(name: string): string {
    return this.path("logs", `${name}.log`);
  }

  pidFile(name: string): string {
    return this.path("run", `${name}.pid`);
  }

  socket(name: string): string {
    return join(this.sockets, `${name}.sock`);
  }

  /** Removes what does not outlive a run; of an ephemeral cluster everything. */
  async close(): Promise<void> {
    if (this.sockets !== this.path("run")) await rm(this.sockets, { recursive: true, force: true });
    if (this.ephemeral) await rm(this.dir, { recursive: true, force: true });
  }
}

function socketFolder(dir: string): string {
  const inside = join(dir, "run");
  if (join(inside, LONGEST_SOCKET_NAME).length < SOCKET_PATH_CHARS_MAX) return inside;
  const digest = createHash("sha256").update(dir).digest("hex").slice(0, 12);
  return join(tmpdir(), `striped-orders-${process.getuid?.() ?? 0}-${digest}`);
}

/** Replaces a file as a whole: a reader sees the old content or the new, never a part. */
export async function writeFileAtomically(path: string, content: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, content, { mode });
  await rename(temporary, path);
}
