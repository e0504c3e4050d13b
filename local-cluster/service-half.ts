// The processes that serve orders: HAProxy and service instances of each stripe, the proxies, ops.
import { createConnection } from "node:net";
import { writeFile } from "node:fs/promises";
import { schemaName } from "../core/ids.ts";
import { setUpStripes } from "../ops/set-up-stripes.ts";
import { answersOk, type ClusterContext } from "./context.ts";
import { checkHaproxyConfig, haproxyConfig } from "./haproxy.ts";
import { PLACE, type StripePlan } from "./plan.ts";
import { opsEnv, proxyEnv, serviceEnv } from "./settings.ts";

const PORT_PROBE_TIMEOUT_MS = 1_000;
const HOST = "127.0.0.1";

/**
 * Registers the stripes and starts everything that serves; the databases are up and migrated.
 * @param sourcePort port of a stripe's source now
 * @param spares how many of the last stripes are given no buckets
 */
export async function startServiceHalf(
  context: ClusterContext,
  sourcePort: (stripe: number) => number,
  spares: number,
): Promise<void> {
  await registerStripes(context, sourcePort, spares);
  context.work.tell("starting HAProxy, stripe services, proxies and ops");
  await Promise.all(context.plan.stripes.map((stripe) => startHaproxy(context, stripe)));
  await Promise.all([
    ...context.plan.stripes.flatMap((stripe) => startServices(context, stripe)),
    ...startProxies(context),
    startOps(context),
  ]);
}

/** In the reverse order of their need of one another. */
export async function stopServiceHalf(context: ClusterContext): Promise<void> {
  const { plan } = context;
  await context.stop(plan.proxies.map(({ name }) => name));
  await context.stop([
    plan.ops.name,
    ...plan.stripes.flatMap((stripe) => stripe.services.map(({ name }) => `service-${name}`)),
  ]);
  await context.stop(plan.stripes.map(({ haproxyName }) => haproxyName));
}

async function registerStripes(
  context: ClusterContext,
  sourcePort: (stripe: number) => number,
  spares: number,
): Promise<void> {
  const { plan, secrets } = context;
  const control = {
    host: HOST,
    port: plan.control.port,
    user: "control",
    password: secrets.passwords.control,
    database: "control",
  };
  const setups = plan.stripes.map((stripe) => ({
    stripe: stripe.stripe,
    place: PLACE,
    tripleId: stripe.tripleId,
    services: stripe.services.map(({ url }) => url),
    takesHomes: stripe.stripe <= plan.stripes.length - spares,
    database: {
      host: HOST,
      port: sourcePort(stripe.stripe),
      user: "app",
      password: secrets.passwords.app,
      database: schemaName(stripe.stripe, PLACE),
    },
  }));
  await setUpStripes(control, setups);
}

async function startHaproxy(context: ClusterContext, stripe: StripePlan): Promise<void> {
  const name = stripe.haproxyName;
  const file = context.folder.path("haproxy", `${name}.cfg`);
  const servers = stripe.servers.map(({ name: server, address, port, agentPort }) => ({
    name: server,
    host: address,
    port,
    agentPort,
  }));
  const settings = { ...stripe, socket: context.folder.socket(name), servers };
  await writeFile(file, haproxyConfig(settings), { mode: 0o600 });
  await checkHaproxyConfig(context.haproxy, file);
  const ready = (): Promise<boolean> => accepts(stripe.writerPort);
  await context.launch(name, [context.haproxy, "-db", "-f", file], {}, ready);
}

function startServices(context: ClusterContext, stripe: StripePlan): Promise<unknown>[] {
  return stripe.services.map((service) => {
    const env = { ...serviceEnv(context.settings, stripe, service), ...context.serviceSettings };
    const ready = (): Promise<boolean> => answersOk(`${service.url}/readyz`);
    return context.launchEntry(`service-${service.name}`, "stripe-service/main.ts", env, ready);
  });
}

function startProxies(context: ClusterContext): Promise<unknown>[] {
  return context.plan.proxies.map((proxy) => {
    const ready = (): Promise<boolean> => answersOk(`${proxy.url}/readyz`);
    return context.launchEntry(proxy.name, "proxy/main.ts", proxyEnv(context.settings, proxy), ready);
  });
}

function startOps(context: ClusterContext): Promise<unknown> {
  const { name, url } = context.plan.ops;
  return context.launchEntry(name, "ops/main.ts", opsEnv(context.settings), () => answersOk(`${url}/readyz`));
}

/** Whether something accepts connections there. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: HOST, port, timeout: PORT_PROBE_TIMEOUT_MS });
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.once("connect", () => answer(true));
    socket.once("timeout", () => answer(false));
    socket.once("error", () => answer(false));
  });
}
