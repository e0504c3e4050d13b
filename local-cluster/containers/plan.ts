// A cluster in containers, as the same plan that `npm start` makes: every process has a host name of its own, and all of
// a kind have the same ports.
import {
  type ClusterPlan,
  type ClusterSize,
  type InstancePlan,
  numbers,
  SERVER_LETTERS,
  serverIdOf,
  type StripePlan,
  tripleIdOf,
} from "../plan.ts";

/** Stripes that the compose file describes; an env file may leave out the last. */
export const COMPOSE_STRIPES = 3;

export const HTTP_PORT = 8080;
export const OPS_PORT = 8090;
export const AGENT_PORT = 8070;
export const MYSQL_PORT = 3306;
export const MYSQL_ADMIN_PORT = 33_062;
/** Of a stripe's HAProxy: to its source, and to its replicas. */
const WRITER_PORT = 3306;
const READER_PORT = 3307;

/** All addresses of a container. */
export const ANY_ADDRESS = "0.0.0.0";

/** Instances of a stripe's service are the engine's to count. */
export type ContainerSize = Omit<ClusterSize, "services">;

/**
 * @param clusterId names the triples
 */
export function containerPlan(size: ContainerSize, clusterId: string): ClusterPlan {
  const instance = (name: string, port = HTTP_PORT): InstancePlan => ({ name, port, url: `http://${name}:${port}` });
  return {
    listenHost: ANY_ADDRESS,
    control: { host: "control", port: MYSQL_PORT, adminPort: MYSQL_ADMIN_PORT },
    stripes: numbers(size.stripes).map((stripe) => planStripe(stripe, clusterId)),
    proxies: numbers(size.proxies).map((i) => instance(`proxy-${i}`)),
    ops: instance("ops", OPS_PORT),
    checkers: numbers(size.checkers).map((i) => instance(`checker-${i}`)),
  };
}

function planStripe(stripe: number, clusterId: string): StripePlan {
  const service = `s${stripe}-service`;
  return {
    stripe,
    tripleId: tripleIdOf(stripe, clusterId),
    servers: SERVER_LETTERS.map((letter, i) => {
      const name = `s${stripe}${letter}`;
      return {
        name,
        serverId: serverIdOf(stripe, i + 1),
        address: name,
        port: MYSQL_PORT,
        adminHost: name,
        adminPort: MYSQL_ADMIN_PORT,
        agentHost: `${name}-agent`,
        agentPort: AGENT_PORT,
      };
    }),
    haproxyName: `s${stripe}-haproxy`,
    haproxyHost: `s${stripe}-haproxy`,
    writerPort: WRITER_PORT,
    readerPort: READER_PORT,
    // However many instances there are: the engine keeps an address of each under the service's name.
    services: [{ name: service, port: HTTP_PORT, url: `dns+http://${service}:${HTTP_PORT}` }],
  };
}
