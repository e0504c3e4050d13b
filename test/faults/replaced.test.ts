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

test("a replaced source that clients still reach never says that there is no such order", async () => {
  const { triple, links, proxyUrl } = stand;
  const api = new Api(proxyUrl);
  const ledger = new OrderLedger("replaced");
  const old = await stand.source();
  for (const peer of NAMES.filter((name) => name !== old)) {
    links.get(old, peer).set("silent");
    links.get(peer, old).set("silent");
  }
  await stand.hide(old);
  await triple.until("another one leads", async () => {
    const record = await triple.record();
    return record?.src !== old && record?.phase === "IDLE";
  });
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
});
