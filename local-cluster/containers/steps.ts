// The steps between "the databases are up" and "the services may start": schemas, and the routing table. Safe to run
// again, and run at every start: a newer image upgrades so.
import { schemaName } from "../../core/ids.ts";
import { setUpStripes } from "../../ops/set-up-stripes.ts";
import { Deadline, sleep } from "../../runtime/clock.ts";
import { connect, type MysqlTarget } from "../../runtime/mysql.ts";
import { PLACE } from "../plan.ts";
import { bringControlUpToDate, bringStripeUpToDate } from "../schemas.ts";
import { containerPlan } from "./plan.ts";
import { readStepsFile } from "./steps-file.ts";

/** A cluster whose machines have just started needs less; one that waits for a person fails here and says so. */
const UP_MAX_MS = 180_000;
const POLL_MS = 100;
const CONNECT_TIMEOUT_MS = 1_000;

/** Brings the control database's schema up to date. @throws Error when it is not reachable in time */
export async function prepareControl(): Promise<void> {
  const { size, clusterId, passwords } = readStepsFile();
  const { host, port } = containerPlan(size, clusterId).control;
  const target = { host, port, user: "migrate", password: passwords.migrate };
  await untilConnects("the control database", target);
  await bringControlUpToDate(target);
}

/** Brings the stripes' schemas up to date and puts the stripes into the routing table. @throws Error as above */
export async function prepareStripes(): Promise<void> {
  const { size, clusterId, passwords } = readStepsFile();
  const { stripes, control } = containerPlan(size, clusterId);
  const setups = await Promise.all(
    stripes.map(async ({ stripe, tripleId, haproxyHost: host, writerPort: port, services }) => {
      const migrate = { host, port, user: "migrate", password: passwords.migrate };
      await untilConnects(`the source of stripe ${stripe}`, migrate);
      await bringStripeUpToDate(migrate, stripe);
      const database = { host, port, user: "app", password: passwords.app, database: schemaName(stripe, PLACE) };
      return { stripe, place: PLACE, tripleId, services: services.map(({ url }) => url), database };
    }),
  );
  const { host, port } = control;
  await setUpStripes({ host, port, user: "control", password: passwords.control, database: "control" }, setups);
}

async function untilConnects(what: string, target: MysqlTarget): Promise<void> {
  const deadline = new Deadline(UP_MAX_MS);
  for (;;) {
    try {
      const connection = await connect(target, CONNECT_TIMEOUT_MS);
      await connection.end();
      return;
    } catch (error) {
      if (deadline.passed) throw new Error(`${what} could not be reached within ${UP_MAX_MS} ms`, { cause: error });
      await sleep(POLL_MS);
    }
  }
}
