// The agent's memory: one small file, replaced atomically and forced to disk before the SQL it belongs to. The data
// directory carries its dataId in a marker file, so that other data under the same path is noticed.
import { constants } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";
import { agentFileSchema } from "../core/agent-wire.ts";
import type { AgentFile } from "../core/agent-wire.ts";
import { readIfThere } from "../runtime/files.ts";
import { PRISTINE_WANTED } from "./data-directory.ts";

const MARKER = "storage-agent-data-id";
const BOOT_ID = "/proc/sys/kernel/random/boot_id";

export interface Judgement {
  readonly data: "VALID" | "VOID";
  /** Null when VALID. */
  readonly reason: string | null;
  /** There never was a file: this may be a server that was never used. */
  readonly blank: boolean;
}

export class StateFile {
  readonly #path: string;
  readonly #markerPath: string;
  #file: AgentFile | null = null;
  #unreadable = false;
  /** One write at a time: they share the name of the file that is written aside. */
  #writes: Promise<void> = Promise.resolve();
  #judgement: Judgement = { data: "VOID", reason: "not loaded", blank: false };

  constructor(path: string, dataDir: string) {
    this.#path = path;
    this.#markerPath = join(dataDir, MARKER);
  }

  /** Null when there is no readable file. */
  get file(): AgentFile | null {
    return this.#file;
  }

  get judgement(): Judgement {
    return this.#judgement;
  }

  /** Reads the file at the agent's start and judges the data. */
  async load(): Promise<void> {
    const text = await readIfThere(this.#path);
    if (text !== null) {
      try {
        this.#file = agentFileSchema.parse(JSON.parse(text));
      } catch {
        this.#unreadable = true;
      }
    }
    await this.judge();
  }

  /** Judges the data again: at every start of mysqld. */
  async judge(): Promise<Judgement> {
    const marker = await readIfThere(this.#markerPath);
    const file = this.#file;
    const relaxedUnder = file?.relaxedBootId ?? null;
    if (file !== null && file.data === "VALID" && relaxedUnder !== null && relaxedUnder !== (await bootId())) {
      // Transactions may have been executed, their relay logs removed, and neither written to the disk.
      await this.write({ data: "VOID" });
    }
    if (this.#file === null && this.#unreadable) this.#judgement = UNREADABLE;
    else this.#judgement = judgementOf(this.#file, marker);
    return this.#judgement;
  }

  /**
   * Changes fields; resolves when they are on disk.
   * @throws Error when the epoch would fall, or without a file
   */
  write(patch: Partial<AgentFile>): Promise<void> {
    const written = this.#writes.then(() => this.#write(patch));
    this.#writes = written.catch(() => {});
    return written;
  }

  async #write(patch: Partial<AgentFile>): Promise<void> {
    if (this.#file === null) throw new Error("the agent has no file");
    if (patch.epoch !== undefined && patch.epoch < this.#file.epoch) throw new Error("the epoch must not fall");
    const next = { ...this.#file, ...patch };
    await replaceFile(this.#path, `${JSON.stringify(next)}\n`);
    this.#file = next;
    if (patch.data === "VOID") this.#judgement = { data: "VOID", reason: VOIDED, blank: false };
  }

  /** Voids the data under a new dataId before it is replaced; makes the file when there is none. */
  async voidData(epoch: number): Promise<void> {
    const base = this.#file ?? newFile(epoch);
    this.#file = base;
    await this.write({ epoch, dataId: randomUUID(), data: "VOID", revoked: true });
  }

  /** Declares the present data valid, as nobody's: it never was a source and follows nobody. */
  async validate(epoch: number): Promise<void> {
    if (this.#file === null) this.#file = newFile(epoch);
    // A wish for pristine data was about what was here before; it must not outlive that.
    await rm(join(dirname(this.#markerPath), PRISTINE_WANTED), { force: true });
    await replaceFile(this.#markerPath, this.#file.dataId);
    await this.write({ ...newFile(epoch), dataId: this.#file.dataId, data: "VALID" });
    await this.judge();
  }
}

/** Identity of this boot of the machine; null where the system does not tell, and then nothing is relaxed. */
export async function bootId(): Promise<string | null> {
  return (await readIfThere(BOOT_ID))?.trim() ?? null;
}

const UNREADABLE: Judgement = { data: "VOID", reason: "the agent's file is unreadable", blank: false };

const VOIDED = "the data is being replaced, or was lost";

function judgementOf(file: AgentFile | null, marker: string | null): Judgement {
  const isVoid = (reason: string): Judgement => ({ data: "VOID", reason, blank: file === null });
  if (file === null) return isVoid("the agent has no file");
  if (file.data === "VOID") return isVoid(VOIDED);
  if (marker?.trim() !== file.dataId) return isVoid("the data directory is not the one that the agent's file is about");
  return { data: "VALID", reason: null, blank: false };
}

function newFile(epoch: number): AgentFile {
  return {
    epoch,
    dataId: randomUUID(),
    data: "VOID",
    openEpoch: 0,
    followTenure: 0,
    followSource: null,
    revoked: true,
    relaxedBootId: null,
  };
}

/** Write aside, fsync, rename, fsync the directory. */
async function replaceFile(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true });
  const aside = `${path}.new`;
  const handle = await open(aside, "w", 0o640);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(aside, path);
  await syncPath(directory);
}

/** Forces a file or a directory to disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
