// The containers that hold data: the control database, the servers of the triples with their agents, and the step that
// makes the data directories they begin with.
import { bootstrapOptions } from "../data-template.ts";
import { controlServerOptions, tripleServerOptions } from "../mysqld.ts";
import type { ServerPlan, StripePlan } from "../plan.ts";
import { SMALL_HEAP } from "../settings.ts";
import {
  AGENT_DIR,
  DATA_DIR,
  FILES,
  MYSQL_UID,
  READERS,
  SCRIPTS_DIR,
  SECRETS_DIR,
  serverPlace,
  TEMPLATE_DIR,
} from "./places.ts";
import { AGENT_PORT } from "./plan.ts";
import { type ContainerSpec, DONE, type Mount, STARTED } from "./spec.ts";

const SCRIPTS = "./local-cluster/containers";
const CONTROL_SERVER_ID = 1;
/** A sound stop writes everything that is in memory. */
const MYSQL_STOP_S = 60;
const MYSQL_USER = `${MYSQL_UID}:${MYSQL_UID}`;

export const SECRETS_VOLUME = "secrets";

/** The folder of secrets of one kind of reader. */
export function secretsOf(reader: string): Mount {
  return { source: SECRETS_VOLUME, target: SECRETS_DIR, readOnly: true, subpath: reader };
}

/** Settings that every process of ours in a container of its own has, for its health check. */
export function healthyCheck(port: number, path: string) {
  const test = ["CMD", "bash", "local-cluster/containers/healthy.sh", String(port), path];
  return { test, intervalS: 10, startPeriodS: 120 };
}

const mysqlBasics = {
  image: "mysql",
  user: MYSQL_USER,
  tmpfs: ["/tmp", `/var/run/mysqld:uid=${MYSQL_UID},gid=${MYSQL_UID}`],
  memoryMb: 768,
  pids: 512,
} as const;

/** Makes the pristine data directories. */
export function templateSpec(): ContainerSpec {
  const script = `${SCRIPTS_DIR}/make-templates.sh`;
  return {
    ...mysqlBasics,
    name: "template",
    entrypoint: ["bash", script],
    command: bootstrapOptions,
    networks: [],
    mounts: [
      { source: "template", target: DATA_DIR, filled: true },
      { source: `${SCRIPTS}/make-templates.sh`, target: script, readOnly: true },
      secretsOf(READERS.template),
    ],
    once: true,
    after: { "set-up": DONE },
  };
}

export function controlSpec(): ContainerSpec {
  const options = controlServerOptions(serverPlace("control", CONTROL_SERVER_ID));
  return { ...mysqlSpec("control", "control", options), networks: ["inside"] };
}

/** A server of a triple and the agent beside it. */
export function serverSpecs(stripe: StripePlan, server: ServerPlan, told: string): ContainerSpec[] {
  const options = tripleServerOptions(serverPlace(server.name, server.serverId));
  const scale = scaleOf(stripe.stripe);
  return [
    { ...mysqlSpec(server.name, "server", options), ...scale },
    { ...agentSpec(server, told), ...scale },
  ];
}

/** An env file may leave out every stripe but the first, by a variable with its number. */
export function scaleOf(stripe: number): { readonly scale?: string } {
  return stripe === 1 ? {} : { scale: `\${STRIPE_${stripe}:-1}` };
}

function mysqlSpec(name: string, kind: "server" | "control", options: readonly string[]): ContainerSpec {
  const script = `${SCRIPTS_DIR}/start-mysql.sh`;
  return {
    ...mysqlBasics,
    name,
    entrypoint: ["bash", script, kind],
    command: ["mysqld", ...options],
    networks: ["storage"],
    mounts: [
      { source: `${name}-data`, target: DATA_DIR, filled: true },
      { source: "template", target: TEMPLATE_DIR, readOnly: true },
      { source: `${SCRIPTS}/start-mysql.sh`, target: script, readOnly: true },
    ],
    healthCheck: {
      test: ["CMD", "mysqladmin", "--no-defaults", `--socket=${SOCKET}`, "ping"],
      intervalS: 10,
      startPeriodS: 120,
    },
    stopGraceS: MYSQL_STOP_S,
    // Nothing: compose makes everything anew that depends on what it makes anew, and a step before is, at every upgrade. A
    // server waits for its template itself.
  };
}

const SOCKET = serverPlace("", 1).socket;

/**
 * The agent attaches to its server over the network and shares its data directory: to know whose data it is, to keep
 * errant transactions, to give a clone a name of its own. Neither lives in the other's namespaces, so either may be
 * started again alone.
 */
function agentSpec({ name, agentHost }: ServerPlan, told: string): ContainerSpec {
  return {
    name: agentHost,
    image: "own",
    user: MYSQL_USER,
    command: [...SMALL_HEAP, "storage-agent/main.ts"],
    env: { AGENTS_CONFIG: `${SECRETS_DIR}/${FILES.agents}` },
    networks: ["storage"],
    mounts: [
      { source: `${name}-data`, target: DATA_DIR },
      { source: `${name}-agent`, target: AGENT_DIR, filled: true },
      secretsOf(name),
    ],
    tmpfs: ["/tmp"],
    memoryMb: 192,
    pids: 64,
    healthCheck: healthyCheck(AGENT_PORT, "/healthz"),
    told,
    after: { "set-up": DONE, [name]: STARTED },
  };
}
