import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentState } from "../../core/agent-wire.ts";
import { advance, type ServerView } from "../../health-checker/failover/server-view.ts";
import { agentAnswers, agentGone, heldFor } from "../../health-checker/failover/snapshot.ts";
import { A, NOW, Scene } from "./scene.ts";

const open = (): ServerView => new Scene().view(A);
const state = (scene: Scene): AgentState => {
  const found = scene.view(A).state;
  if (found === null) throw new Error("a scene has states");
  return found;
};
const answer = (view: ServerView, scene: Scene, nowMs: number): ServerView =>
  advance(view, { kind: "answer", state: state(scene), askedAtMs: nowMs - 5, nowMs });
const failure = (view: ServerView, nowMs: number): ServerView => advance(view, { kind: "failure", error: "x", nowMs });

test("an agent is late after one failed poll, gone after three, and back with one answer", () => {
  let view = failure(open(), NOW);
  assert.deepEqual([agentAnswers(view, NOW), agentGone(view, NOW)], [false, false]);
  view = failure(failure(view, NOW + 200), NOW + 400);
  assert.equal(agentGone(view, NOW + 400), true);
  assert.equal(heldFor(view, "gone", NOW + 400), 400);
  view = answer(view, new Scene(), NOW + 600);
  assert.deepEqual([agentAnswers(view, NOW + 600), heldFor(view, "gone", NOW + 600)], [true, 0]);
});

test("an agent that hangs is gone after 2.5 s, and not believed any more", () => {
  const view = failure(open(), NOW + 1_500);
  assert.equal(agentGone(view, NOW + 2_000), false);
  assert.equal(agentGone(view, NOW + 2_500), true);
});

test("silent looks count in a row, and only while the process is there", () => {
  const silent = new Scene().silent(A, 0);
  let view = answer(answer(open(), silent, NOW), silent, NOW + 800);
  assert.deepEqual([view.silentLooks, heldFor(view, "silent", NOW + 800)], [2, 800]);
  view = answer(view, new Scene(), NOW + 900);
  assert.equal(view.silentLooks, 0);
  assert.equal(answer(open(), new Scene().dead(A), NOW).silentLooks, 0);
});

test("the process that was open is remembered over its end", () => {
  const view = answer(open(), new Scene().dead(A), NOW);
  assert.equal(view.openPid, open().openPid);
});

test("a server in a container of its own was open too, though its process is not known", () => {
  const scene = new Scene();
  const attached = { ...state(scene), process: { supervised: false, pid: null, starts: 0, running: true } };
  const view = advance(open(), { kind: "answer", state: attached, askedAtMs: NOW - 5, nowMs: NOW });
  assert.notEqual(view.openPid, null);
});

test("a process that was stopped itself forgets what it has counted", () => {
  let view = failure(failure(failure(open(), NOW), NOW + 200), NOW + 400);
  view = advance(view, { kind: "stall", nowMs: NOW + 60_000 });
  assert.deepEqual([view.failures, agentGone(view, NOW + 60_000), heldFor(view, "gone", NOW + 60_000)], [0, false, 0]);
});
