// The demo's player in a container of the cluster.
import { AgentClient } from "../../runtime/agent-client.ts";
import { Deadline, sleep } from "../../runtime/clock.ts";
import type { DemoCluster } from "../demo/day.ts";
import { killRequest } from "../demo/in-containers.ts";
import { demoCommand, type DemoOptions } from "../demo/options.ts";
import { runDemo } from "../demo/run-demo.ts";
import { containerPlan, HTTP_PORT } from "./plan.ts";
import { readStepsFile } from "./steps-file.ts";

const OBSERVE_DEADLINE_MS = 2_500;
const SOURCE_WAIT_MAX_MS = 30_000;
const POLL_MS = 200;

/** Plays a day through the entry, and asks for a kill on standard output. @param args of the command line */
export async function playDemo(args: readonly string[]): Promise<void> {
  const options = demoCommand()
    .parse([...args], { from: "user" })
    .opts<DemoOptions>();
  const kill = ({ name }: { readonly name: string }): void => void process.stdout.write(`${killRequest(name)}\n`);
  process.exitCode = await runDemo({ ...options, cluster: clusterSeen(), kill: options.kill ? kill : null });
}

/** Asks the agents for the roles of their servers, each time. */
function clusterSeen(): () => Promise<DemoCluster> {
  const { size, clusterId, passwords, token } = readStepsFile();
  const plan = containerPlan(size, clusterId);
  const agents = new Map(
    plan.stripes
      .flatMap(({ servers }) => servers)
      .map(({ name, agentHost: host, agentPort: port }) => [
        name,
        new AgentClient({ server: name, host, port, apiToken: token ?? null }),
      ]),
  );
  const roleOf = async (name: string): Promise<string> => {
    const state = await agents
      .get(name)
      ?.observe(OBSERVE_DEADLINE_MS)
      .catch(() => undefined);
    return state?.role === "open" ? "source" : (state?.role ?? "down");
  };
  const stripesSeen = () =>
    Promise.all(
      plan.stripes.map(async ({ stripe, servers }) => ({
        stripe,
        mysql: await Promise.all(
          servers.map(async ({ name, address, port }) => ({
            name,
            address,
            port,
            pid: null,
            role: await roleOf(name),
          })),
        ),
      })),
    );
  return async () => {
    const deadline = new Deadline(SOURCE_WAIT_MAX_MS);
    let stripes = await stripesSeen();
    // A stripe is without a source while it changes hands, and without an answer while the machine is busy.
    while (!stripes.every(({ mysql }) => mysql.some(({ role }) => role === "source")) && !deadline.passed) {
      await sleep(POLL_MS);
      stripes = await stripesSeen();
    }
    const proxies = [{ url: `http://entry:${HTTP_PORT}` }];
    return { proxies, stripes, user: "viewer", password: passwords.viewer };
  };
}
