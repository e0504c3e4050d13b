// What a cluster consists of: names, addresses and ports of every process, decided before anything starts.
import type { PortBook, PortRequest } from "./ports.ts";
import type { ClusterSecrets } from "./secrets.ts";

export interface ClusterSize {
  /** 1 … 8. */
  readonly stripes: number;
  /** 1 … 16. */
  readonly proxies: number;
  /** Service instances of each stripe, 1 … 8. */
  readonly services: number;
  /** Health checkers, 1 … 5; one leads each triple, the others stand by. */
  readonly checkers: number;
}

export const SIZE_MAX: Readonly<ClusterSize> = { stripes: 8, proxies: 16, services: 8, checkers: 5 };

export const SERVER_LETTERS = ["a", "b", "c"] as const;

/** The place number of a local stripe's only copy. */
export const PLACE = 1;

const LOOPBACK = "127.0.0.1";

export interface ServerPlan {
  /** As in `s1a`. */
  readonly name: string;
  readonly serverId: number;
  /** Own loopback address on Linux, so that a firewall rule can cut off one server; 127.0.0.1 elsewhere. */
  readonly address: string;
  readonly port: number;
  /** Where the administrative port is reached, by the server's agent alone. */
  readonly adminHost: string;
  readonly adminPort: number;
  readonly agentHost: string;
  readonly agentPort: number;
}

export interface InstancePlan {
  readonly name: string;
  readonly port: number;
  readonly url: string;
}

export interface StripePlan {
  readonly stripe: number;
  readonly tripleId: string;
  readonly servers: readonly ServerPlan[];
  readonly haproxyName: string;
  readonly haproxyHost: string;
  readonly writerPort: number;
  readonly readerPort: number;
  /** `name` is the INSTANCE, as in `s1-2`. */
  readonly services: readonly InstancePlan[];
}

export interface ClusterPlan {
  /** Address at which every process of ours listens. */
  readonly listenHost: string;
  readonly control: { readonly host: string; readonly port: number; readonly adminPort: number };
  readonly stripes: readonly StripePlan[];
  readonly proxies: readonly InstancePlan[];
  readonly ops: InstancePlan;
  readonly checkers: readonly InstancePlan[];
}

/** Ports that the user named, or the usual ones; undefined lets the cluster choose. */
export interface KnownPorts {
  readonly proxy?: { readonly port: number; readonly strict: boolean } | undefined;
  readonly ops?: { readonly port: number; readonly strict: boolean } | undefined;
}

/** Every port that a cluster of this size needs, in a fixed order: a larger cluster only appends stripe by stripe. */
export function portRequests(size: ClusterSize, known: KnownPorts): PortRequest[] {
  const wanted = (from: KnownPorts["proxy"], offset: number): Partial<PortRequest> =>
    from === undefined ? {} : { wanted: from.port + offset, strict: from.strict && offset === 0 };
  return [
    ...numbers(size.proxies).map((i) => ({ name: `proxy-${i}`, ...wanted(known.proxy, i - 1) })),
    { name: "ops", ...wanted(known.ops, 0) },
    { name: "control" },
    { name: "control-admin" },
    ...numbers(size.checkers).map((i) => ({ name: `checker-${i}` })),
    ...numbers(size.stripes).flatMap((stripe) => [
      ...SERVER_LETTERS.flatMap((letter) =>
        ["", "-admin", "-agent"].map((suffix) => ({ name: `s${stripe}${letter}${suffix}` })),
      ),
      { name: `s${stripe}-writer` },
      { name: `s${stripe}-reader` },
      ...numbers(size.services).map((i) => ({ name: `s${stripe}-${i}` })),
    ]),
  ];
}

/** The plan of a cluster whose ports are chosen. */
export function planCluster(
  size: ClusterSize,
  book: Pick<PortBook, "port" | "block">,
  secrets: ClusterSecrets,
): ClusterPlan {
  const instance = (name: string): InstancePlan => {
    const port = book.port(name);
    return { name, port, url: `http://${LOOPBACK}:${port}` };
  };
  return {
    listenHost: LOOPBACK,
    control: { host: LOOPBACK, port: book.port("control"), adminPort: book.port("control-admin") },
    stripes: numbers(size.stripes).map((stripe) => ({
      stripe,
      tripleId: tripleIdOf(stripe, secrets.clusterId),
      servers: SERVER_LETTERS.map((letter, i) => planServer(book, stripe, letter, i + 1)),
      haproxyName: `haproxy-${stripe}`,
      haproxyHost: LOOPBACK,
      writerPort: book.port(`s${stripe}-writer`),
      readerPort: book.port(`s${stripe}-reader`),
      services: numbers(size.services).map((i) => instance(`s${stripe}-${i}`)),
    })),
    proxies: numbers(size.proxies).map((i) => instance(`proxy-${i}`)),
    ops: instance("ops"),
    checkers: numbers(size.checkers).map((i) => instance(`checker-${i}`)),
  };
}

function planServer(book: Pick<PortBook, "port" | "block">, stripe: number, letter: string, n: number): ServerPlan {
  const name = `s${stripe}${letter}`;
  return {
    name,
    serverId: serverIdOf(stripe, n),
    address: process.platform === "linux" ? `127.${book.block + 1}.${stripe}.${n}` : LOOPBACK,
    port: book.port(name),
    adminHost: LOOPBACK,
    adminPort: book.port(`${name}-admin`),
    agentHost: LOOPBACK,
    agentPort: book.port(`${name}-agent`),
  };
}

/** The triple's name in its record and in its data: of this cluster, so that data of another is never taken for it. */
export function tripleIdOf(stripe: number, clusterId: string): string {
  return `t${String(stripe).padStart(4, "0")}-${clusterId}`;
}

/** @param n of the server in its triple, from 1 */
export function serverIdOf(stripe: number, n: number): number {
  return stripe * 100 + n;
}

/** 1 … count. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
