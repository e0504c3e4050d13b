import assert from "node:assert/strict";
import { test } from "node:test";
import type { RoutingTable } from "../../core/routing-table.ts";
import { anyInstance, Instances, sameInstances } from "../../runtime/routing/instances.ts";

const table = (...services: string[]): RoutingTable => {
  return {
    version: 1,
    stripes: [{ stripe: 1, services }],
    partitions: [],
    merchants: [],
    trials: [],
  } as unknown as RoutingTable;
};
const servicesOf = ({ stripes }: RoutingTable): readonly string[] => stripes[0]?.services ?? [];

test("a name stands for every address that it has, and plain addresses stay as they are", async () => {
  const instances = new Instances();
  const found = servicesOf(await instances.expanded(table("http://10.0.0.1:8080", "dns+http://localhost:8081")));
  assert.equal(found[0], "http://10.0.0.1:8080");
  assert.ok(found.includes("http://127.0.0.1:8081") || found.includes("http://[::1]:8081"), found.join());
  assert.ok(found.every((url) => !url.startsWith("dns+")));
  assert.equal(new Set(found).size, found.length);
});

test("a table without names is not touched", async () => {
  const plain = table("http://10.0.0.1:8080");
  assert.equal(await new Instances().expanded(plain), plain);
});

test("a name that nobody knows is left to the caller's own lookup, and is the same table the next time", async () => {
  const instances = new Instances();
  const named = table("dns+http://no-such-name.invalid:8080");
  const first = await instances.expanded(named);
  assert.deepEqual(servicesOf(first), ["http://no-such-name.invalid:8080"]);
  assert.ok(sameInstances(first, await instances.expanded(named)));
});

test("who does not choose asks any instance by the name", () => {
  assert.equal(anyInstance("dns+http://s1-service:8080"), "http://s1-service:8080");
  assert.equal(anyInstance("http://10.0.0.1:8080"), "http://10.0.0.1:8080");
});
