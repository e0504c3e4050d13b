// What can go wrong in a round. Each mishap strikes at servers by the role that they have at that moment, and ends by
// itself or with the round.
import type { Random } from "../../../local-cluster/demo/random.ts";
import { sleep } from "../../../runtime/clock.ts";
import { switchOver } from "../../support/failover-scenarios.ts";
import { ledgerInsert } from "../../support/failover-triple.ts";
import { NAMES } from "../../support/linked-triple.ts";
import type { LinkState } from "../../support/replication-link.ts";
import type { Mishap, Scene } from "./mishap.ts";
import { checkerDies, checkerDiesAtAStep, checkerPauses, checkerSleepsAtAStep } from "./mishaps-checkers.ts";

async function anyServer({ stand, random }: Scene): Promise<string> {
  return random.chance(0.6) ? stand.source() : random.pick(await stand.replicas());
}

const kill: Mishap = {
  name: "kill -9 of a server",
  weight: 5,
  moves: true,
  async strike(scene) {
    const name = await anyServer(scene);
    scene.tell(`kill ${name}`);
    scene.stand.killMysqld(name);
  },
};

const stop: Mishap = {
  name: "SIGSTOP of a server",
  weight: 4,
  moves: true,
  async strike(scene) {
    const name = await anyServer(scene);
    scene.tell(`stop ${name} for ${scene.forMs} ms`);
    const wake = scene.stand.stopMysqld(name);
    await sleep(scene.forMs, scene.end);
    wake();
  },
};

const machine: Mishap = {
  name: "a machine goes away",
  weight: 3,
  moves: true,
  async strike(scene) {
    const name = await anyServer(scene);
    scene.tell(`machine ${name} away for ${scene.forMs} ms`);
    await scene.stand.takeDown(name);
    await sleep(scene.forMs, scene.end);
    await scene.stand.bringUp(name);
  },
};

const agent: Mishap = {
  name: "an agent dies",
  weight: 2,
  moves: false,
  async strike(scene) {
    const name = await anyServer(scene);
    scene.tell(`agent of ${name} away for ${scene.forMs} ms`);
    await scene.stand.triple.agents.killAgent(name);
    await sleep(scene.forMs, scene.end);
    await scene.stand.bringUp(name);
  },
};

/** One direction between two servers: whoever of them replicates over it. */
const cut: Mishap = {
  name: "a cut between two servers",
  weight: 4,
  moves: true,
  async strike({ stand, random, forMs, end, tell }) {
    const state = random.pick<LinkState>(["silent", "cut", "deaf-source"]);
    const source = await stand.source();
    const replicas = await stand.replicas();
    const hit = random.chance(0.4) ? replicas : [random.pick(replicas)];
    tell(`${hit.join(", ")} -> ${source} ${state} for ${forMs} ms`);
    for (const replica of hit) stand.links.get(replica, source).set(state);
    await sleep(forMs, end);
    for (const replica of hit) stand.links.get(replica, source).set("open");
  },
};

const island: Mishap = {
  name: "a server alone on its side",
  weight: 3,
  moves: true,
  async strike(scene) {
    const { stand, random, forMs, end, tell } = scene;
    const name = await anyServer(scene);
    const state = random.pick(["silent", "cut"] as const);
    tell(`${name} isolated (${state}) for ${forMs} ms`);
    await stand.isolate(name, state);
    await sleep(forMs, end);
  },
};

const halves: Mishap = {
  name: "source and a replica on one side, the checkers and the other replica on the other",
  weight: 2,
  moves: true,
  async strike({ stand, random, forMs, end, tell }) {
    const source = await stand.source();
    const [near = "", far = ""] = random.chance(0.5) ? await stand.replicas() : (await stand.replicas()).toReversed();
    tell(`${source} + ${near} | checkers + ${far} for ${forMs} ms`);
    stand.links.get(far, source).set("silent");
    await Promise.all([stand.hide(source), stand.hide(near)]);
    await sleep(forMs, end);
  },
};

const unseen: Mishap = {
  name: "a server out of the checkers' sight",
  weight: 2,
  moves: false,
  async strike(scene) {
    const name = await anyServer(scene);
    scene.tell(`${name} hidden from the checkers for ${scene.forMs} ms`);
    await scene.stand.hide(name);
    await sleep(scene.forMs, scene.end);
    await scene.stand.show(name);
  },
};

const clientless: Mishap = {
  name: "a server that no client reaches",
  weight: 2,
  moves: false,
  async strike(scene) {
    const { stand, random, forMs, end, tell } = scene;
    const name = await anyServer(scene);
    const state = random.pick<LinkState>(["silent", "cut"]);
    tell(`clients of ${name} ${state} for ${forMs} ms`);
    stand.clientLinks.get(name)?.set(state);
    await sleep(forMs, end);
    stand.clientLinks.get(name)?.set("open");
  },
};

const controlAway: Mishap = {
  name: "the control database is away",
  weight: 2,
  moves: false,
  async strike({ stand, forMs, end, tell }) {
    tell(`control database stopped for ${forMs} ms`);
    const resume = stand.pauseControl();
    await sleep(forMs, end);
    resume();
  },
};

/** Somebody switches semi-sync off at the source; then does what the operator's page says. */
const tampered: Mishap = {
  name: "semi-sync switched off by hand",
  weight: 1,
  moves: true,
  alone: true,
  async strike({ stand, tell }) {
    const source = await stand.source();
    tell(`semi-sync off at ${source}`);
    await stand.triple.agents.query(source, "root", "SET GLOBAL rpl_semi_sync_source_enabled = OFF");
    await stand.triple.untilProblem("SEMISYNC_TAMPERED");
    await stand.triple.until("the source covers", async () => {
      return (await stand.triple.record())?.ack_set.includes(source) ?? false;
    });
    const { state, detail } = await switchOver(stand.triple, null);
    tell(`switchover: ${state} ${detail ?? ""}`);
  },
};

const errant: Mishap = {
  name: "a write of a replica's own",
  weight: 1,
  moves: false,
  alone: true,
  async strike({ stand, random, tell }) {
    const name = random.pick(await stand.replicas());
    const session = await stand.triple.agents.connect(name, "root");
    try {
      tell(`errant write at ${name}`);
      await session.query("SET GLOBAL super_read_only = OFF");
      await session.query(ledgerInsert(-stand.triple.nextLedgerId()));
      await session.query("SET GLOBAL super_read_only = ON");
    } finally {
      session.destroy();
    }
  },
};

const switchover: Mishap = {
  name: "a planned switchover",
  weight: 3,
  moves: true,
  async strike({ stand, random, tell }) {
    const target = random.chance(0.5) ? null : random.pick(await stand.replicas());
    tell(`switchover to ${target ?? "anybody"}`);
    const { state, detail } = await switchOver(stand.triple, target, 5_000);
    tell(`switchover: ${state} ${detail ?? ""}`);
  },
};

const bothReplicas: Mishap = {
  name: "both replicas go away",
  weight: 2,
  moves: true,
  async strike({ stand, forMs, end, tell }) {
    const replicas = await stand.replicas();
    tell(`${replicas.join(" and ")} away for ${forMs} ms`);
    await Promise.all(replicas.map((name) => stand.takeDown(name)));
    await sleep(forMs, end);
    await Promise.all(replicas.map((name) => stand.bringUp(name)));
  },
};

const everybody: Mishap = {
  name: "all three are killed",
  weight: 2,
  moves: true,
  strike({ stand, tell }) {
    tell("all three killed");
    for (const name of NAMES) stand.killMysqld(name);
    return Promise.resolve();
  },
};

const longTransaction: Mishap = {
  name: "a transaction is long",
  weight: 2,
  moves: false,
  async strike({ stand, forMs, end, tell }) {
    const source = await stand.source();
    const session = await stand.triple.agents.connect(source, "app");
    try {
      tell(`transaction open at ${source} for ${forMs} ms`);
      await session.query("BEGIN");
      await session.query(ledgerInsert(-stand.triple.nextLedgerId()));
      await sleep(forMs, end);
    } finally {
      session.destroy();
    }
  },
};

const schemaChange: Mishap = {
  name: "a schema change runs",
  weight: 2,
  moves: true,
  async strike({ stand, random, tell }) {
    const source = await stand.source();
    const session = await stand.triple.agents.connect(source, "migrate");
    try {
      tell(`ALTER TABLE at ${source}`);
      const comment = `at ${random.integer(1, 1_000_000)}`;
      await session.query(
        `ALTER TABLE stripe_0001_p1.ledger COMMENT '${comment}', ENGINE = InnoDB, ALGORITHM = COPY, LOCK = SHARED`,
      );
    } finally {
      session.destroy();
    }
  },
};

const diskLost: Mishap = {
  name: "a replica's disk is lost",
  weight: 1,
  moves: false,
  alone: true,
  async strike({ stand, random, tell }) {
    const name = random.pick(await stand.replicas());
    tell(`disk of ${name} lost`);
    await stand.takeDown(name);
    await stand.triple.wipe(name);
    await stand.bringUp(name);
  },
};

export const MISHAPS: readonly Mishap[] = [
  kill,
  stop,
  machine,
  agent,
  cut,
  island,
  halves,
  unseen,
  clientless,
  checkerDies,
  checkerPauses,
  checkerDiesAtAStep,
  checkerSleepsAtAStep,
  controlAway,
  tampered,
  errant,
  switchover,
  bothReplicas,
  everybody,
  longTransaction,
  schemaChange,
  diskLost,
];

export function drawMishap(random: Random): Mishap {
  let at = random.next() * MISHAPS.reduce((sum, { weight }) => sum + weight, 0);
  for (const mishap of MISHAPS) {
    at -= mishap.weight;
    if (at < 0) return mishap;
  }
  throw new Error("the weights do not add up");
}
