// Builds snapshots for the problem table: a whole triple, to be spoiled in one way at a time.
import type { AgentState, MysqlState } from "../../core/agent-wire.ts";
import { parseGtidSet } from "../../health-checker/failover/gtid-set.ts";
import type { TripleRecord } from "../../health-checker/failover/record.ts";
import { type Condition, type ServerView, unseen } from "../../health-checker/failover/server-view.ts";
import { freshMemory, type Memory, type Snapshot } from "../../health-checker/failover/snapshot.ts";

export const NOW = 1_000_000;
const BEGAN = NOW - 600_000;
export const A = "s1a";
export const B = "s1b";
export const C = "s1c";
export const UUID: Readonly<Record<string, string>> = {
  [A]: "aaaaaaaa-0000-0000-0000-000000000000",
  [B]: "bbbbbbbb-0000-0000-0000-000000000000",
  [C]: "cccccccc-0000-0000-0000-000000000000",
};
const EPOCH = 7;
const TENURE = 3;
export const SET = `${UUID[A]}:1-100`;

function mysqlState(server: string): MysqlState {
  const source = server === A;
  return {
    serverUuid: UUID[server] ?? "",
    executed: SET,
    retrieved: source ? "" : `${UUID[A]}:50-100`,
    readOnly: !source,
    superReadOnly: !source,
    sourceArmed: source,
    replicaArmed: !source,
    stained: source,
    waitSessions: 0,
    noTx: 0,
    noTimes: 0,
    receiver: source
      ? null
      : {
          io: "Yes",
          applierRunning: true,
          sourceHost: "127.0.0.1",
          sourcePort: 1,
          sourceUuid: UUID[A] ?? "",
          heartbeats: 10,
          receiving: true,
          lastProgressAgeMs: 100,
          ioErrno: 0,
          ioError: "",
          applierErrno: 0,
          applierError: "",
        },
    dumpThreads: source ? [{ id: 5, user: "repl_b", host: "x" }] : [],
    unlockedAccounts: source ? ["repl_b", "repl_c"] : [],
    relaxed: !source,
  };
}

function agentState(server: string): AgentState {
  const source = server === A;
  return {
    server,
    stripe: 1,
    tripleId: "t0001",
    agentRunId: "run",
    file: {
      epoch: EPOCH,
      dataId: "data",
      data: "VALID",
      openEpoch: source ? TENURE : 0,
      followTenure: source ? 0 : TENURE,
      followSource: source ? null : A,
      revoked: !source,
      relaxedBootId: null,
    },
    data: "VALID",
    voidReason: null,
    pristine: false,
    role: source ? "open" : "follower",
    process: { supervised: true, pid: 100 + server.charCodeAt(2), starts: 1, running: true },
    mysql: mysqlState(server),
    mysqlError: null,
    beat: source ? { written: 9, lastOkAgeMs: 10, pendingMs: null, hangs: false, lastError: null } : null,
    lagMs: 200,
    disk: null,
    alarms: [],
    busy: null,
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class Scene {
  record: TripleRecord | null = {
    tripleId: "t0001",
    stripe: 1,
    epoch: EPOCH,
    phase: "IDLE",
    src: A,
    tenure: TENURE,
    ackSet: [B, C],
    owner: "me",
    victim: null,
    u: null,
    version: 20,
  };
  memory: Mutable<Memory> = { ...freshMemory(BEGAN), settleBase: parseGtidSet(SET) };
  switchover: Snapshot["switchover"] = null;
  recordLostConfirmed = false;
  halted: string | null = null;
  readonly views = new Map<string, Mutable<ServerView>>();

  constructor() {
    for (const name of [A, B, C]) {
      const state = agentState(name);
      const openPid = name === A ? state.process.pid : null;
      this.views.set(name, { ...unseen(name, NOW - 50), state, askedAtMs: name === A ? NOW - 10 : NOW - 60, openPid });
    }
  }

  view(name: string): Mutable<ServerView> {
    const view = this.views.get(name);
    if (view === undefined) throw new Error(name);
    return view;
  }

  change(patch: Partial<TripleRecord>): this {
    if (this.record !== null) this.record = { ...this.record, ...patch };
    return this;
  }

  state(name: string, patch: Partial<AgentState>): this {
    const view = this.view(name);
    if (view.state !== null) view.state = { ...view.state, ...patch };
    return this;
  }

  mysql(name: string, patch: Partial<MysqlState>): this {
    const { state } = this.view(name);
    if (state === null || state.mysql === null) throw new Error(`${name} does not answer in this scene`);
    return this.state(name, { mysql: { ...state.mysql, ...patch } });
  }

  receiver(name: string, patch: Partial<NonNullable<MysqlState["receiver"]>>): this {
    const receiver = this.view(name).state?.mysql?.receiver;
    if (!receiver) throw new Error(`${name} has no receiver in this scene`);
    return this.mysql(name, { receiver: { ...receiver, ...patch } });
  }

  since(name: string, condition: Condition, forMs: number): this {
    const view = this.view(name);
    view.since = { ...view.since, [condition]: NOW - forMs };
    return this;
  }

  /** The agent gives no answer. */
  gone(name: string, forMs = 10_000, failures = 5): this {
    const view = this.view(name);
    view.failures = failures;
    view.answeredAtMs = NOW - forMs;
    return this.since(name, "gone", forMs);
  }

  /** The agent answers, its mysqld does not. */
  silent(name: string, forMs: number, looks = 3): this {
    this.state(name, { mysql: null, mysqlError: "no answer", role: "down" });
    this.view(name).silentLooks = looks;
    return this.since(name, "silent", forMs);
  }

  /** The mysqld process has ended. */
  dead(name: string): this {
    this.state(name, { process: { supervised: true, pid: null, starts: 1, running: false } });
    return this.silent(name, 100, 0);
  }

  closed(name: string): this {
    this.state(name, { role: "closed", beat: null });
    const receiver = this.view(name).state?.mysql?.receiver;
    const stopped = receiver ? { ...receiver, io: "No" as const, receiving: false } : null;
    return this.mysql(name, {
      readOnly: true,
      superReadOnly: true,
      sourceArmed: false,
      replicaArmed: false,
      stained: false,
      receiver: stopped,
    });
  }

  /** Follows, and nothing arrives. */
  deaf(name: string, forMs: number): this {
    return this.receiver(name, { io: "Connecting", receiving: false }).since(name, "notReceiving", forMs);
  }

  beatHangs(forMs: number, waitSessions = 0): this {
    this.state(A, {
      beat: { written: 9, lastOkAgeMs: forMs + 1_500, pendingMs: forMs + 1_500, hangs: true, lastError: null },
    });
    return this.mysql(A, { waitSessions }).since(A, "beatHangs", forMs);
  }

  voidData(name: string): this {
    return this.state(name, { data: "VOID", voidReason: "lost" });
  }

  snapshot(): Snapshot {
    const { record, memory, switchover, recordLostConfirmed, halted } = this;
    return { nowMs: NOW, record, views: [...this.views.values()], memory, switchover, recordLostConfirmed, halted };
  }
}
