// Ports of a cluster. Each running cluster holds one block of ports (a lock that dies with its launcher), so that two
// clusters that start at the same moment never choose the same; inside the block a port that somebody else has is
// passed over. What was chosen is kept, so that a second start uses the same.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { type ClusterFolder, writeFileAtomically } from "./folder.ts";
import { canListen } from "./free-port.ts";
import { ProcessLock } from "./install/process-lock.ts";

const FIRST_PORT = 23_100;
/** Enough for 8 stripes with 8 services each and 16 proxies. */
const BLOCK_PORTS = 200;
/** All below 32768, where the system takes the ports of outgoing connections from. */
const BLOCKS = 48;
/** How far to look for a port beside the wanted one. */
const NEIGHBOURS_MAX = 50;

export interface PortRequest {
  readonly name: string;
  /** A port that people know, as 8080; without it one of the block. */
  readonly wanted?: number;
  /** Only the wanted one will do. */
  readonly strict?: boolean;
}

export interface PortMove {
  readonly name: string;
  readonly wanted: number;
  readonly got: number;
}

export interface PortBook extends AsyncDisposable {
  /** Number of the block, 0 … 47: also the cluster's own part of the loopback network. */
  readonly block: number;
  /** @throws Error for a name that was not requested */
  port(name: string): number;
  /** Ports that had to differ from what was wanted or kept: to be said to the user. */
  readonly moves: readonly PortMove[];
}

const storedSchema = z.object({ block: z.int().min(0), ports: z.record(z.string(), z.int()) });
type Stored = z.infer<typeof storedSchema>;

/**
 * Chooses and keeps a port for each request.
 * @throws Error when a strict port is taken or no block is free
 */
export async function openPortBook(folder: ClusterFolder, requests: readonly PortRequest[]): Promise<PortBook> {
  const path = folder.path("ports.json");
  const stored = await readStored(path);
  const digest = createHash("sha256").update(folder.dir).digest();
  const { block, lock } = await takeBlock(stored?.block ?? digest.readUInt16BE(0) % BLOCKS);
  try {
    const kept = stored?.block === block ? stored.ports : {};
    const { ports, moves } = await choosePorts(requests, kept, block, canListen);
    await writeFileAtomically(path, `${JSON.stringify({ block, ports } satisfies Stored, null, 2)}\n`);
    const port = (name: string): number => {
      const number = ports[name];
      if (number === undefined) throw new Error(`no port was requested for ${name}`);
      return number;
    };
    return { block, port, moves, [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose]() };
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}

async function readStored(path: string): Promise<Stored | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return storedSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // a choice of ports is easily made again
  }
}

async function takeBlock(first: number): Promise<{ block: number; lock: ProcessLock }> {
  for (let i = 0; i < BLOCKS; i++) {
    const block = (first + i) % BLOCKS;
    const lock = await ProcessLock.tryAcquire(`ports ${block}`);
    if (lock !== undefined) return { block, lock };
  }
  throw new Error(`${BLOCKS} clusters run on this machine already; stop one`);
}

/** The choice itself. `isFree` is asked at most once a port. */
export async function choosePorts(
  requests: readonly PortRequest[],
  kept: Readonly<Record<string, number>>,
  block: number,
  isFree: (port: number) => Promise<boolean>,
): Promise<{ ports: Record<string, number>; moves: PortMove[] }> {
  const ports: Record<string, number> = {};
  const moves: PortMove[] = [];
  const reserved = new Set(requests.flatMap((request) => request.wanted ?? kept[request.name] ?? []));
  const seen = new Set<number>();
  const take = async (port: number): Promise<boolean> => {
    if (seen.has(port)) return false;
    seen.add(port);
    return isFree(port);
  };
  for (const request of requests) {
    const preferred = request.wanted ?? kept[request.name];
    if (preferred !== undefined && (await take(preferred))) {
      ports[request.name] = preferred;
      continue;
    }
    if (request.strict === true) throw new Error(`port ${preferred} (${request.name}) is taken by another process`);
    const got = await firstFree(candidates(request.wanted, block), reserved, take);
    if (preferred !== undefined) moves.push({ name: request.name, wanted: preferred, got });
    ports[request.name] = got;
  }
  return { ports, moves };
}

function candidates(wanted: number | undefined, block: number): number[] {
  const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);
  const own = range(FIRST_PORT + block * BLOCK_PORTS, BLOCK_PORTS);
  return wanted === undefined ? own : [...range(wanted + 1, NEIGHBOURS_MAX), ...own];
}

async function firstFree(
  among: readonly number[],
  reserved: ReadonlySet<number>,
  take: (port: number) => Promise<boolean>,
): Promise<number> {
  for (const port of among) if (!reserved.has(port) && (await take(port))) return port;
  throw new Error("no free port is left for this cluster");
}
