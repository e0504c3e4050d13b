// Mishaps of the health checkers: the leading one dies or sleeps, at any moment or at a step of a recovery.
import { sleep } from "../../../runtime/clock.ts";
import type { Mishap, Scene } from "./mishap.ts";

const STEPS = ["cas.REVOKE", "revoke", "cas.PROMOTE", "prepare", "follow", "open", "cas.IDLE", "admit", "cas.WIDEN"];
const REACHED_WAIT_MS = 1_500;

function drawPoint({ random }: Scene): string {
  return `${random.pick(STEPS)}:${random.pick(["before", "after"])}`;
}

/** Makes a recovery necessary. */
async function breakSource(scene: Scene): Promise<void> {
  const { stand, random, tell } = scene;
  const source = await stand.source();
  if (random.chance(0.6)) {
    tell(`kill ${source}`);
    return stand.killMysqld(source);
  }
  tell(`machine ${source} away`);
  await stand.takeDown(source);
}

export const checkerDies: Mishap = {
  name: "the leading checker dies",
  weight: 2,
  moves: false,
  async strike({ stand, tell }) {
    const leader = await stand.leader();
    if (leader === null) return;
    tell(`kill ${leader}`);
    await stand.triple.stopController(leader);
  },
};

export const checkerPauses: Mishap = {
  name: "the leading checker sleeps",
  weight: 2,
  moves: false,
  async strike({ stand, forMs, end, tell }) {
    const leader = await stand.leader();
    const child = leader === null ? undefined : stand.triple.controllers.get(leader)?.child;
    tell(`${leader} sleeps for ${forMs} ms`);
    child?.kill("SIGSTOP");
    await sleep(forMs, end);
    child?.kill("SIGCONT");
  },
};

export const checkerDiesAtAStep: Mishap = {
  name: "the leading checker dies at a step",
  weight: 4,
  moves: true,
  async strike(scene) {
    const { stand, tell } = scene;
    const leader = await stand.leader();
    if (leader === null) return;
    const point = drawPoint(scene);
    tell(`${leader} dies at ${point}`);
    await stand.armFault(leader, point, "crash");
    await breakSource(scene);
  },
};

export const checkerSleepsAtAStep: Mishap = {
  name: "the leading checker sleeps at a step",
  weight: 3,
  moves: true,
  async strike(scene) {
    const { stand, forMs, end, tell } = scene;
    const leader = await stand.leader();
    const child = leader === null ? undefined : stand.triple.controllers.get(leader)?.child;
    if (leader === null || child === undefined) return;
    const point = drawPoint(scene);
    tell(`${leader} sleeps at ${point} for ${forMs} ms`);
    await stand.armFault(leader, point, "hold");
    await breakSource(scene);
    await sleep(REACHED_WAIT_MS, end);
    child.kill("SIGSTOP");
    await sleep(forMs, end);
    child.kill("SIGCONT");
    await stand.disarm(leader, point);
  },
};
