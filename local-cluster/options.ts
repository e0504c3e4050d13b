import { Command, InvalidArgumentError, Option } from "commander";
import type { ClusterOptions } from "./cluster.ts";
import { type KnownPorts, SIZE_MAX } from "./plan.ts";

const PROXY_PORT = 8080;
const OPS_PORT = 8090;

/** Reads the launcher's command line; prints usage and ends the process when it is wrong or asks for help. */
export function parseOptions(argv: readonly string[]): ClusterOptions {
  const program = new Command("npm start --")
    .description("Start a whole local cluster in the foreground: real MySQL triples, HAProxy, services, proxies, ops")
    .addOption(
      new Option("--stripes <n>", `stripes, 1 … ${SIZE_MAX.stripes} (default: as before, else 3)`).argParser(
        count("stripes"),
      ),
    )
    .addOption(new Option("--proxies <n>", `proxies, 1 … ${SIZE_MAX.proxies}`).argParser(count("proxies")).default(1))
    .addOption(
      new Option("--services <n>", `service instances a stripe, 1 … ${SIZE_MAX.services}`)
        .argParser(count("services"))
        .default(1),
    )
    .addOption(
      new Option("--checkers <n>", `health checkers, 1 … ${SIZE_MAX.checkers}`).argParser(count("checkers")).default(2),
    )
    .addOption(
      new Option("--spares <n>", "of the stripes, how many of the last are given no buckets: for another partition")
        .argParser(spares)
        .default(0),
    )
    .addOption(
      new Option("--port <port>", `port of the first proxy (default: ${PROXY_PORT} or the next free one)`).argParser(
        portNumber,
      ),
    )
    .addOption(
      new Option("--ops-port <port>", `port of the ops API (default: ${OPS_PORT} or the next free one)`).argParser(
        portNumber,
      ),
    )
    .option("--dir <folder>", "data, logs and settings (default: .local-cluster)")
    .option("--ephemeral", "new empty data, removed at the end", false)
    .allowExcessArguments(false)
    .parse(argv);
  const given = program.opts<{
    stripes?: number;
    proxies: number;
    services: number;
    checkers: number;
    spares: number;
    port?: number;
    opsPort?: number;
    dir?: string;
    ephemeral: boolean;
  }>();
  const { port, opsPort, stripes, ...rest } = given;
  return {
    ...rest,
    ...(stripes === undefined ? {} : { stripes }),
    ports: { proxy: knownPort(port, PROXY_PORT), ops: knownPort(opsPort, OPS_PORT) },
  };
}

/** A port that was named is meant; the usual one may give way; 0 leaves the choice to the cluster. */
function knownPort(named: number | undefined, usual: number): KnownPorts["proxy"] {
  if (named === 0) return undefined;
  return named === undefined ? { port: usual, strict: false } : { port: named, strict: true };
}

function count(name: keyof typeof SIZE_MAX): (text: string) => number {
  return (text) => {
    const n = Number(text);
    if (/^\d+$/.test(text) && n >= 1 && n <= SIZE_MAX[name]) return n;
    throw new InvalidArgumentError(`1 … ${SIZE_MAX[name]} are possible.`);
  };
}

function spares(text: string): number {
  const n = Number(text);
  if (/^\d+$/.test(text) && n < SIZE_MAX.stripes) return n;
  throw new InvalidArgumentError(`0 … ${SIZE_MAX.stripes - 1} are possible.`);
}

function portNumber(text: string): number {
  const n = Number(text);
  if (/^\d+$/.test(text) && n <= 65_535) return n;
  throw new InvalidArgumentError("A port is 1 … 65535, or 0 for any free one.");
}
