// The databases of a cluster: data directories, the control database, the agents with their MySQL servers, the triples
// and their schemas.
import { rename, rm, writeFile } from "node:fs/promises";
import { connect, type MysqlTarget } from "../runtime/mysql.ts";
import { agentsConfig, controlStatements, tripleAccountStatements } from "./agents-config.ts";
import { startCheckers } from "./checkers.ts";
import { answersOk, type ClusterContext } from "./context.ts";
import { copyDataDirectory } from "./copy-data.ts";
import { pathExists } from "./install/run-command.ts";
import { makeDataDirectory } from "./data-template.ts";
import { controlServerOptions } from "./mysqld.ts";
import { bringControlUpToDate, bringStripeUpToDate } from "./schemas.ts";
import { SMALL_HEAP } from "./settings.ts";
import { TripleWatch } from "./triple-watch.ts";

const TEMPLATE = "template";
const CONTROL = "control";
const CONTROL_SERVER_ID = 1;
const CONNECT_TIMEOUT_MS = 1_000;

/** The storage half as it runs. */
export class StorageHalf {
  readonly #context: ClusterContext;
  readonly triples: readonly TripleWatch[];

  constructor(context: ClusterContext) {
    this.#context = context;
    this.triples = context.plan.stripes.map(
      (stripe) =>
        new TripleWatch(stripe, {
          onChange: () => context.onChange(),
        }),
    );
  }

  /** Starts everything and waits until every triple has a source and its schema. */
  async start(): Promise<void> {
    const context = this.#context;
    const entries = ["storage-agent/main.ts", "health-checker/main.ts"];
    await Promise.all([prepareData(context), context.compileAhead(entries, SMALL_HEAP)]);
    const count = context.plan.stripes.length;
    context.work.tell(`starting the control database and ${count === 1 ? "a triple" : `${count} triples`} of MySQL`);
    await Promise.all([this.#startControl(), this.#startAgents()]);
    for (const triple of this.triples) triple.start();
    await startCheckers(context);
    await Promise.all(this.triples.map((triple) => this.#untilOpen(triple)));
  }

  /** First those who would take a stopped source for a dead one; then sources before replicas, their agents last. */
  async stop(): Promise<void> {
    await this.#context.stop(this.#context.plan.checkers.map(({ name }) => name));
    await Promise.all([...this.triples.map((triple) => triple.shutDownServers()), this.#context.stop([CONTROL])]);
    await this.#context.stop(["agents"]);
  }

  /** Port of a stripe's source. @throws Error while there is none */
  sourcePort(stripe: number): number {
    const port = this.triples.find((triple) => triple.stripe.stripe === stripe)?.sourcePort();
    if (port === undefined) throw new Error(`stripe ${stripe} has no source now`);
    return port;
  }

  async #startControl(): Promise<void> {
    const { folder, mysql, plan, secrets } = this.#context;
    const place = {
      name: CONTROL,
      serverId: CONTROL_SERVER_ID,
      dataDir: folder.path("mysql", CONTROL),
      address: "127.0.0.1",
      ...plan.control,
      socket: folder.socket(CONTROL),
      errorLog: null,
    };
    const target = { host: "127.0.0.1", port: plan.control.port };
    const viewer = { ...target, user: "viewer", password: secrets.passwords.viewer };
    const argv = [...mysql.mysqld, ...controlServerOptions(place)];
    await this.#context.launch(CONTROL, argv, {}, () => accepts(viewer));
    const migrate = { ...target, user: "migrate", password: secrets.passwords.migrate };
    await bringControlUpToDate(migrate);
  }

  async #startAgents(): Promise<void> {
    const { plan, folder } = this.#context;
    const env = { AGENTS_CONFIG: folder.path("agents.json"), LOG_LEVEL: "info" };
    const ready = async (): Promise<boolean> => {
      const urls = plan.stripes.flatMap(({ servers }) => servers.map((s) => `http://127.0.0.1:${s.agentPort}/healthz`));
      return (await Promise.all(urls.map(answersOk))).every((ok) => ok);
    };
    await this.#context.launchEntry("agents", "storage-agent/main.ts", env, ready, SMALL_HEAP);
  }

  /** The health checkers open the triple; then its schema is brought up to date. */
  async #untilOpen(triple: TripleWatch): Promise<void> {
    const { work, secrets } = this.#context;
    const { stripe } = triple.stripe;
    this.#context.throwIfStopping();
    await triple.untilOpen();
    const password = secrets.passwords.migrate;
    const target = { host: "127.0.0.1", port: this.sourcePort(stripe), user: "migrate", password };
    await bringStripeUpToDate(target, stripe);
    work.tell(`stripe ${stripe} has a source and two replicas`);
  }
}

/** Makes the data directories that do not exist yet. */
async function prepareData(context: ClusterContext): Promise<void> {
  const { folder, mysql, plan, secrets } = context;
  const servers = plan.stripes.flatMap((stripe) => stripe.servers);
  const missing = await filterAsync(servers, async ({ name }) => !(await pathExists(folder.path("mysql", name))));
  if (missing.length > 0) context.work.tell(`making ${missing.length} data directories`);
  const { root } = secrets.passwords;
  const [template] = await Promise.all([
    makeDataDirectory(folder, mysql, TEMPLATE, tripleAccountStatements(secrets), root),
    makeDataDirectory(folder, mysql, CONTROL, controlStatements(secrets), root),
  ]);
  for (const { name } of missing) {
    context.throwIfStopping();
    const unfinished = folder.path("mysql", `${name}.unfinished`);
    await rm(unfinished, { recursive: true, force: true });
    await copyDataDirectory(template, unfinished);
    await rename(unfinished, folder.path("mysql", name));
  }
  const config = agentsConfig(folder, mysql, plan, secrets, template, context.peerPort);
  await writeFile(folder.path("agents.json"), `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}

async function accepts(target: MysqlTarget): Promise<boolean> {
  try {
    const connection = await connect(target, CONNECT_TIMEOUT_MS);
    connection.destroy();
    return true;
  } catch {
    return false;
  }
}

async function filterAsync<T>(items: readonly T[], keep: (item: T) => Promise<boolean>): Promise<T[]> {
  const verdicts = await Promise.all(items.map(keep));
  return items.filter((_, i) => verdicts[i] === true);
}
