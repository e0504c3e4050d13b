// T20, T21 and more: the leading controller dies, or sleeps, before and after each step of a failover.
import { after, afterEach, before, test } from "node:test";
import { FailoverTriple } from "../support/failover-triple.ts";
import { leaderDies, leaderSleeps } from "../support/failover-scenarios.ts";

let triple: FailoverTriple;
before(async () => {
  triple = await FailoverTriple.whole();
  await triple.startController("hc2");
});
after(() => triple[Symbol.asyncDispose]());
afterEach(() => triple.untilWhole());

const STEPS = ["cas.REVOKE", "revoke", "cas.PROMOTE", "prepare", "follow", "open", "cas.IDLE"];

for (const step of STEPS) {
  for (const place of ["before", "after"]) {
    const point = `${step}:${place}`;
    test(`the leader dies at ${point} of a failover: the other one completes it`, () => leaderDies(triple, point));
  }
}

for (const step of STEPS) {
  test(`a leader that sleeps before ${step} of a failover wakes up late and does nothing wrong`, () =>
    leaderSleeps(triple, `${step}:before`));
}
