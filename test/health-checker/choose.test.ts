import assert from "node:assert/strict";
import { test } from "node:test";
import { choose, type Choice, type Reply } from "../../health-checker/failover/choose.ts";
import type { TripleRecord } from "../../health-checker/failover/record.ts";
import { A, B, C, Scene, UUID } from "./scene.ts";

const U = UUID[A] ?? "";
const preference = { prefer: null, exclude: new Set<string>(), order: [A, B, C] };

function record(patch: Partial<TripleRecord> = {}): TripleRecord {
  const { record: base } = new Scene().change({ phase: "REVOKE", epoch: 8, ...patch });
  if (base === null) throw new Error("a scene has a record");
  return base;
}

function reply(server: string, executed: string, retrieved = "", patch: Partial<Reply> = {}): [string, Reply] {
  return [
    server,
    { server, epoch: 8, valid: true, closed: true, executed, retrieved, serverUuid: UUID[server] ?? "", ...patch },
  ];
}

function chosen(choice: ReturnType<typeof choose>): Choice {
  if (typeof choice === "string") assert.fail(choice);
  return choice;
}

test("Q1: with every member read, the one that holds the union leads, applied or not", () => {
  const replies = new Map([reply(B, `${U}:1-100`), reply(C, `${U}:1-90`, `${U}:80-105`)]);
  const choice = chosen(choose(record(), replies, preference));
  assert.equal(choice.candidate, C);
  assert.equal(choice.condition, "Q1");
  assert.deepEqual(choice.followers, [B]);
  assert.deepEqual(choice.ackSet, [B, C], "C stays a member until B has caught up");
  assert.equal(choice.tenure, 8);
});

test("the new source is no member when a follower holds everything already", () => {
  const replies = new Map([reply(B, `${U}:1-100`), reply(C, `${U}:1-100`)]);
  const choice = chosen(choose(record(), replies, preference));
  assert.deepEqual([choice.candidate, choice.ackSet], [B, [C]]);
});

test("one member read of two is never enough, even when it is alone", () => {
  assert.equal(choose(record(), new Map([reply(B, `${U}:1-100`)]), preference), "TOO_FEW_READ");
  const narrowed = chosen(choose(record({ ackSet: [B] }), new Map([reply(B, `${U}:1-100`)]), preference));
  assert.equal(narrowed.candidate, B);
  assert.deepEqual(narrowed.ackSet, [B]);
});

test("a server to be avoided leads only when nobody else may", () => {
  const all = new Map([reply(A, `${U}:1-100`), reply(B, `${U}:1-100`), reply(C, `${U}:1-90`, `${U}:91-100`)]);
  assert.equal(chosen(choose(record(), all, preference)).candidate, A);
  assert.equal(chosen(choose(record(), all, { ...preference, avoid: A })).candidate, B);
  const alone = new Map([reply(A, `${U}:1-101`), reply(B, `${U}:1-100`)]);
  assert.equal(chosen(choose(record(), alone, { ...preference, avoid: A })).candidate, A);
});

test("Q2: the closed source leads again, no member is dropped, and its tenure stays", () => {
  const replies = new Map([reply(A, `${U}:1-101`), reply(B, `${U}:1-100`)]);
  const choice = chosen(choose(record(), replies, preference));
  assert.deepEqual([choice.candidate, choice.condition, choice.tenure], [A, "Q2", 3]);
  assert.deepEqual(choice.followers, [B]);
  assert.deepEqual(choice.ackSet, [B, C]);
});

test("Q2: a replica that holds everything of the closed source may lead when it is wanted", () => {
  const replies = new Map([reply(A, `${U}:1-100`), reply(B, `${U}:1-100`)]);
  assert.equal(chosen(choose(record(), replies, { ...preference, prefer: B })).candidate, B);
  const behind = new Map([reply(A, `${U}:1-101`), reply(B, `${U}:1-100`)]);
  assert.equal(chosen(choose(record(), behind, { ...preference, prefer: B })).candidate, A);
});

test("with the source and all members read, a source that is wanted leads again; its unknown writes live", () => {
  const replies = new Map([reply(A, `${U}:1-103`), reply(B, `${U}:1-100`), reply(C, `${U}:1-101`)]);
  assert.equal(chosen(choose(record(), replies, { ...preference, prefer: A })).candidate, A);
  assert.deepEqual(chosen(choose(record(), replies, { ...preference, prefer: A })).followers, [B, C]);
});

test("a server outside the record never leads, however much it holds", () => {
  const replies = new Map([reply(B, `${U}:1-200`), reply(C, `${U}:1-100`)]);
  const choice = chosen(choose(record({ ackSet: [C] }), replies, { ...preference, prefer: B }));
  assert.equal(choice.candidate, C);
  assert.deepEqual(choice.followers, [], "and one that holds more does not follow as it is");
});

test("sets that nobody contains are a person's to judge", () => {
  const replies = new Map([reply(B, `${U}:1-100,${UUID[B]}:1`), reply(C, `${U}:1-101`)]);
  assert.equal(choose(record(), replies, preference), "NOT_COMPARABLE");
});

test("a candidate that cannot execute what it has gives way to an equal one, not to a lesser one", () => {
  const equal = new Map([reply(B, `${U}:1-100`), reply(C, `${U}:1-90`, `${U}:91-100`)]);
  assert.equal(chosen(choose(record(), equal, { ...preference, exclude: new Set([B]) })).candidate, C);
  const lesser = new Map([reply(B, `${U}:1-100`), reply(C, `${U}:1-99`)]);
  assert.equal(choose(record(), lesser, { ...preference, exclude: new Set([B]) }), "NOT_COMPARABLE");
});

test("the least backlog leads among equals, then the order of the configuration", () => {
  const backlog = new Map([reply(B, `${U}:1-50`, `${U}:51-100`), reply(C, `${U}:1-100`)]);
  assert.equal(chosen(choose(record(), backlog, preference)).candidate, C);
  const equal = new Map([reply(B, `${U}:1-100`), reply(C, `${U}:1-100`)]);
  assert.equal(chosen(choose(record(), equal, { ...preference, order: [C, A, B] })).candidate, C);
});

test("A1: an answer of another epoch, of void data or of a server that is not closed stops everything", () => {
  for (const patch of [{ epoch: 7 }, { valid: false }, { closed: false }]) {
    const replies = new Map([reply(B, `${U}:1-100`, "", patch), reply(C, `${U}:1-100`)]);
    assert.throws(() => choose(record(), replies, preference), /assertion A1/);
  }
});

test("a triple that was never opened gets its first tenure", () => {
  const fresh = record({ tenure: 0 });
  const choice = chosen(choose(fresh, new Map([reply(A, ""), reply(B, ""), reply(C, "")]), preference));
  assert.deepEqual([choice.candidate, choice.tenure, choice.ackSet], [A, 8, [B, C]]);
});

test("a server that others can follow leads rather than one that would have to wait for an acker", () => {
  const replies = new Map([reply(A, `${U}:1-103`), reply(B, `${U}:1-100`)]);
  const choice = chosen(choose(record({ ackSet: [B] }), replies, { ...preference, order: [B, A, C] }));
  assert.deepEqual([choice.candidate, choice.followers], [A, [B]]);
});
