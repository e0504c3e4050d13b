// One HAProxy stands between a stripe's services and its triple: a writer port that leads to the one open server and a
// reader port over the followers. The agents' answers decide; HAProxy only shortens the way, safety never rests on it.
import { isIP } from "node:net";
import { runCommand } from "./install/run-command.ts";

const VALIDATE_TIMEOUT_MS = 10_000;

export interface HaproxyServer {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Loopback by default. A name is looked up again and again: containers change their addresses. */
  readonly agentHost?: string;
  readonly agentPort: number;
}

export interface HaproxySettings {
  readonly stripe: number;
  /** Loopback by default. */
  readonly listenHost?: string;
  readonly writerPort: number;
  readonly readerPort: number;
  /** Runtime socket: `show servers state` and so on. */
  readonly socket: string;
  /** Where a GET is answered as long as this HAProxy lives, at loopback. */
  readonly alivePort?: number;
  readonly servers: readonly HaproxyServer[];
}

const LOOPBACK = "127.0.0.1";

/** The configuration file of a stripe's HAProxy. */
export function haproxyConfig(settings: HaproxySettings): string {
  const { stripe, listenHost = LOOPBACK, writerPort, readerPort, socket, servers } = settings;
  const named = servers.some(({ agentHost }) => agentHost !== undefined && isIP(agentHost) === 0);
  const writerChecks = [
    "    option httpchk GET /writer",
    "    http-check disable-on-404", // closing in order: nobody new, and nobody is cut off
    "    http-check expect status 200",
  ];
  const readerChecks = [
    "    default-server inter 1s # reads have the source as well",
    "    option httpchk GET /reader",
    "    http-check expect status 200",
  ];
  return [
    ...globalLines(socket),
    ...(named ? resolverLines : []),
    ...defaultsLines("    timeout client 1h # idle connections of the services' pools", "    timeout server 1h"),
    // A server that loses its role loses its sessions at once: the services' pools meet the new one.
    `    default-server inter 250ms fastinter 100ms fall 2 rise 1 maxconn 250 on-marked-down shutdown-sessions${named ? BY_NAME : ""}`,
    "",
    `listen stripe-${stripe}-writer`,
    `    bind ${listenHost}:${writerPort}`,
    ...writerChecks,
    ...serverLines(servers, named ? `stripe-${stripe}-writer-agents` : null),
    "",
    `listen stripe-${stripe}-reader`,
    `    bind ${listenHost}:${readerPort}`,
    "    balance leastconn",
    ...readerChecks,
    ...serverLines(servers, named ? `stripe-${stripe}-reader-agents` : null),
    "",
    ...(named ? agentLines(`stripe-${stripe}-writer-agents`, writerChecks, servers) : []),
    ...(named ? agentLines(`stripe-${stripe}-reader-agents`, readerChecks, servers) : []),
    ...aliveLines(settings.alivePort),
  ].join("\n");
}

/** The configuration of the HAProxy in front of the proxies: bytes as they are, so every answer is a proxy's own. */
export function entryConfig(
  listen: { readonly host: string; readonly port: number; readonly socket: string; readonly alivePort?: number },
  proxies: readonly { readonly name: string; readonly host: string; readonly port: number }[],
): string {
  return [
    ...globalLines(listen.socket),
    ...resolverLines,
    ...defaultsLines("    timeout client 70s # longer than a proxy keeps an idle connection", "    timeout server 70s"),
    `    default-server inter 500ms fastinter 200ms fall 2 rise 1${BY_NAME}`,
    "",
    "listen entry",
    `    bind ${listen.host}:${listen.port}`,
    "    balance leastconn",
    "    option httpchk GET /readyz",
    "    http-check expect status 200",
    ...proxies.map(({ name, host, port }) => `    server ${name} ${host}:${port} check`),
    "",
    ...aliveLines(listen.alivePort),
  ].join("\n");
}

const BY_NAME = " resolvers engine init-addr last,libc,none";

/** The container engine's own name server, which its containers find in resolv.conf. */
const resolverLines: readonly string[] = [
  "resolvers engine",
  "    parse-resolv-conf",
  "    resolve_retries 2",
  "    timeout resolve 500ms",
  "    timeout retry 500ms",
  "    hold valid 500ms",
  "    hold nx 10s",
  "    hold other 30s",
  "    hold refused 30s",
  "    hold timeout 30s",
  "",
];

function aliveLines(port: number | undefined): string[] {
  if (port === undefined) return [];
  const answer = "    http-request return status 200 content-type text/plain string ok";
  return ["frontend alive", `    bind ${LOOPBACK}:${port}`, "    mode http", answer, ""];
}

function globalLines(socket: string): string[] {
  return [
    "global",
    `    stats socket ${socket} mode 600 level admin`,
    "    nbthread 1",
    "    maxconn 1000",
    "    hard-stop-after 5s",
    "",
  ];
}

function defaultsLines(...timeouts: readonly string[]): string[] {
  return [
    "defaults",
    "    mode tcp",
    "    option tcpka",
    "    option redispatch",
    "    retries 2",
    "    timeout connect 1s",
    "    timeout queue 1s",
    "    timeout check 500ms",
    ...timeouts,
  ];
}

/** @param agents the backend whose checks decide; null = each server's check goes to its agent's fixed address */
function serverLines(servers: readonly HaproxyServer[], agents: string | null): string[] {
  return servers.map(({ name, host, port, agentHost = LOOPBACK, agentPort }) => {
    const check = agents === null ? `check addr ${agentHost} port ${agentPort}` : `track ${agents}/${name}`;
    return `    server ${name} ${host}:${port} ${check}`;
  });
}

/** HAProxy looks up the address of a check once and that of a server again and again: so agents are servers here. */
function agentLines(backend: string, checks: readonly string[], servers: readonly HaproxyServer[]): string[] {
  return [
    `backend ${backend}`,
    ...checks,
    ...servers.map(({ name, agentHost, agentPort }) => `    server ${name} ${agentHost}:${agentPort} check`),
    "",
  ];
}

/** @throws Error with what HAProxy says is wrong in the file */
export async function checkHaproxyConfig(haproxy: string, file: string): Promise<void> {
  await runCommand([haproxy, "-c", "-f", file], { timeoutMs: VALIDATE_TIMEOUT_MS });
}
