// A source that is cut off from the checkers and from both replicas, and not from clients, is replaced without knowing it,
// and goes on being asked. See docs/adr/0017.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Deadline } from "../../runtime/clock.ts";
import { NAMES } from "../support/linked-triple.ts";
import { Api } from "./random/clients.ts";
import { OrderLedger } from "./random/ledger.ts";
import { FaultStand } from "./random/stand.ts";

const TRY_MAX_MS = 30_000;
const CLIENTS = 8;

let stand: FaultStand;
before(async () => {
  stand = await FaultStand.start();
});
after(() => stand[Symbol.asyncDispose]());

function untilReplaced(old: string): Promise<void> {
  return stand.triple.until("another one leads", async () => {
    const record = await stand.triple.record();
    return record?.src !== old && record?.phase === "IDLE";
  });
}

for (const how of ["silent", "cut"] as const) {
  test(`a replaced source that clients still reach never says that there is no such order (links ${how})`, () =>
    replaced(how));
}

async function replaced(how: "silent" | "cut"): Promise<void> {
  const { triple, links, proxyUrl } = stand;
  const api = new Api(proxyUrl);
  const ledger = new OrderLedger(`replaced-${how}`);
  const old = await stand.source();
  for (const peer of NAMES.filter((name) => name !== old)) {
    links.get(old, peer).set(how);
    links.get(peer, old).set(how);
  }
  await stand.hide(old);
  await untilReplaced(old);
  assert.equal((await triple.agents.observe(old)).role, "open", "it does not know");

  // Both are writers to HAProxy now, so that about half of the sessions are the old one's.
  let unsure = 0;
  let acked = 0;
  const deadline = new Deadline(TRY_MAX_MS);
  const isEnough = (): boolean => unsure >= 10 && acked >= 20;
  const client = async (): Promise<void> => {
    while (!isEnough() && !deadline.passed) {
      const entry = ledger.open();
      const created = await api.create(entry);
      if (created.status > 201) continue;
      acked += 1;
      entry.id = String(created.body["transaction_id"]);
      const answers = await Promise.all([api.order(entry.id), api.pay(entry), api.refund(entry)]);
      for (const { status, body, readSource } of answers) {
        assert.notEqual(status, 404, JSON.stringify(body));
        if (readSource === "replica" || /still leads/.test(String(body["detail"]))) unsure += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  assert.ok(isEnough(), `${acked} created; the old source was heard ${unsure} times`);
  await stand.heal();
  await stand.untilSettled(TRY_MAX_MS * 2);
  await api.close();
}

test("a switchover whose leader dies with the source out of the other checker's sight alone is no reason to replace it", async () => {
  const { triple, proxyUrl } = stand;
  const api = new Api(proxyUrl);
  const old = await stand.source();
  const leader = (await stand.leader()) ?? "";
  await triple.fault(leader, "cas.REVOKE:after", "hold");
  await triple.requestSwitchover(null, TRY_MAX_MS);
  await triple.untilReached(leader, "cas.REVOKE:after");
  await stand.hide(old);
  await triple.stopController(leader);
  await triple.until("the other one says why it waits", async () =>
    (await triple.problems()).includes("REVOKE_UNFINISHED"),
  );
  const ledger = new OrderLedger("heard");
  for (let n = 0; n < 20; n++) assert.equal((await api.create(ledger.open())).status, 201);
  assert.equal((await triple.record())?.src, old);
  assert.equal((await triple.agents.observe(old)).role, "open");
  await stand.heal();
  await stand.untilSettled(TRY_MAX_MS * 2);
  assert.equal((await triple.record())?.src, old);
  await api.close();
});

test("a source whose commits stand still, and whose mysqld answers, is replaced, and nothing acknowledged is lost", async () => {
  const { triple, proxyUrl } = stand;
  const api = new Api(proxyUrl);
  const ledger = new OrderLedger("stalled");
  const acked = [ledger.open(), ledger.open(), ledger.open()];
  for (const entry of acked) {
    const created = await api.create(entry);
    assert.equal(created.status, 201);
    entry.id = String(created.body["transaction_id"]);
  }
  const old = await stand.source();
  const root = await triple.agents.connect(old, "root");
  root.on("error", () => {}); // it ends with its mysqld
  await root.query("FLUSH TABLES WITH READ LOCK");
  await untilReplaced(old);
  root.destroy();
  const recoveries = await triple.recoveries();
  assert.ok(
    recoveries.some(({ problem }) => problem === "SOURCE_BEAT_HANGS"),
    JSON.stringify(recoveries.slice(-3)),
  );
  const deadline = new Deadline(TRY_MAX_MS);
  for (const { id } of acked) {
    while ((await api.order(id ?? "")).status !== 200) assert.ok(!deadline.passed, `${id} is not there`);
  }
  await stand.heal();
  await stand.untilSettled(TRY_MAX_MS * 2);
  await api.close();
});
