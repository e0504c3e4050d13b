// One HAProxy stands between a stripe's services and its triple: a writer port that leads to the one open server and a
// reader port over the followers. The agents' answers decide; HAProxy only shortens the way, safety never rests on it.
import { runCommand } from "./install/run-command.ts";

const VALIDATE_TIMEOUT_MS = 10_000;

export interface HaproxyServer {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly agentPort: number;
}

export interface HaproxySettings {
  readonly stripe: number;
  readonly writerPort: number;
  readonly readerPort: number;
  /** Runtime socket: `show servers state` and so on. */
  readonly socket: string;
  readonly servers: readonly HaproxyServer[];
}

/** The configuration file of a stripe's HAProxy. */
export function haproxyConfig(settings: HaproxySettings): string {
  const { stripe, writerPort, readerPort, socket, servers } = settings;
  const serverLines = servers.map(
    ({ name, host, port, agentPort }) => `    server ${name} ${host}:${port} check addr 127.0.0.1 port ${agentPort}`,
  );
  return [
    "global",
    `    stats socket ${socket} mode 600 level admin`,
    "    nbthread 1",
    "    maxconn 1000",
    "    hard-stop-after 5s",
    "",
    "defaults",
    "    mode tcp",
    "    option tcpka",
    "    option redispatch",
    "    retries 2",
    "    timeout connect 1s",
    "    timeout queue 1s",
    "    timeout check 500ms",
    "    timeout client 1h # idle connections of the services' pools",
    "    timeout server 1h",
    // A server that loses its role loses its sessions at once: the services' pools meet the new one.
    "    default-server inter 250ms fastinter 100ms fall 2 rise 1 maxconn 250 on-marked-down shutdown-sessions",
    "",
    `listen stripe-${stripe}-writer`,
    `    bind 127.0.0.1:${writerPort}`,
    "    option httpchk GET /writer",
    "    http-check disable-on-404", // closing in order: nobody new, and nobody is cut off
    "    http-check expect status 200",
    ...serverLines,
    "",
    `listen stripe-${stripe}-reader`,
    `    bind 127.0.0.1:${readerPort}`,
    "    balance leastconn",
    "    option httpchk GET /reader",
    "    http-check expect status 200",
    ...serverLines,
    "",
  ].join("\n");
}

/** @throws Error with what HAProxy says is wrong in the file */
export async function checkHaproxyConfig(haproxy: string, file: string): Promise<void> {
  await runCommand([haproxy, "-c", "-f", file], { timeoutMs: VALIDATE_TIMEOUT_MS });
}
