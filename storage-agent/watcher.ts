// Looks at mysqld a few times a second through an account without privileges; answers `observe`, `/writer` and
// `/reader` from what it saw, and never touches the command lock.
import { RECEIVING_WITHIN_MS } from "../core/leading.ts";
import { monotonicMs, sleep } from "../runtime/clock.ts";
import type { AgentServerConfig } from "./config.ts";
import { readState } from "./db/read-state.ts";
import type { RawState } from "./db/read-state.ts";
import { MysqldDown, Session } from "./db/session.ts";

const WATCH_SQL_TIMEOUT_MS = 800;
/** Reads closer together than this share one look: several controllers cost no more than one. */
const FRESH_MS = 120;

export interface Look {
  /** Monotonic time at which the look began. */
  readonly atMs: number;
  /** Null when mysqld did not answer. */
  readonly raw: RawState | null;
  readonly error: string | null;
  /** Nobody listens there: mysqld does not run. */
  readonly refused: boolean;
}

export class Watcher {
  readonly #config: AgentServerConfig;
  readonly #stop = new AbortController();
  #session: Session | null = null;
  #look: Look = { atMs: -Infinity, raw: null, error: "not looked yet", refused: false };
  #looking: Promise<Look> | null = null;
  #loop: Promise<void> = Promise.resolve();
  #changedAtMs = Number.NEGATIVE_INFINITY;
  #mark = "";
  #markAtMs: number | null = null;
  /** Called after every look; must not throw. */
  onLook: (look: Look) => void = () => {};

  constructor(config: AgentServerConfig) {
    this.#config = config;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await this.#looking;
    this.#session?.destroy();
  }

  /** The last look, however old. */
  get last(): Look {
    return this.#look;
  }

  /** A look that is at most FRESH_MS old and began after the last change that was told of. */
  async fresh(): Promise<Look> {
    const usable = (look: Look): boolean => look.atMs > this.#changedAtMs;
    if (monotonicMs() - this.#look.atMs <= FRESH_MS && usable(this.#look)) return this.#look;
    const look = await this.look();
    return usable(look) ? look : this.look();
  }

  /** Tells that the server has just been changed: what was seen before is history. */
  changed(): void {
    this.#changedAtMs = monotonicMs();
  }

  /** Looks now; joins a look under way. */
  look(): Promise<Look> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** Adds to a state what needs a memory: whether the receiver made progress lately. */
  withProgress(raw: RawState): RawState {
    const nowMs = monotonicMs();
    if (raw.receiverMark !== this.#mark) {
      // The first mark after a pause says nothing about when the progress was made.
      this.#markAtMs = this.#mark === "" ? null : nowMs;
      this.#mark = raw.receiverMark;
    }
    const { receiver } = raw.mysql;
    if (receiver === null) return raw;
    const ageMs = this.#markAtMs === null ? null : Math.round(nowMs - this.#markAtMs);
    const receiving = receiver.io === "Yes" && ageMs !== null && ageMs <= RECEIVING_WITHIN_MS;
    return { ...raw, mysql: { ...raw.mysql, receiver: { ...receiver, receiving, lastProgressAgeMs: ageMs } } };
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      // Whoever asks makes it look, too: then there is no need to look once more by itself.
      const dueInMs = this.#config.watchIntervalMs - (monotonicMs() - this.#look.atMs);
      if (dueInMs > 0) await sleep(dueInMs, this.#stop.signal);
      else await this.look();
    }
  }

  async #lookOnce(): Promise<Look> {
    const atMs = monotonicMs();
    let look: Look;
    try {
      const session = await this.#connected();
      const { userPrefix } = this.#config.accounts.replication;
      const armed = this.#look.raw?.mysql.sourceArmed ?? false;
      const raw = await readState(session, userPrefix, WATCH_SQL_TIMEOUT_MS, armed);
      look = { atMs, raw: this.withProgress(raw), error: null, refused: false };
    } catch (error) {
      this.#session?.destroy();
      this.#mark = "";
      const refused = error instanceof MysqldDown && error.refused;
      const why = error instanceof Error ? error.message : String(error);
      look = { atMs: monotonicMs(), raw: null, error: why, refused };
    }
    this.#look = look;
    this.onLook(look);
    return look;
  }

  async #connected(): Promise<Session> {
    if (this.#session && !this.#session.lost) return this.#session;
    const { adminHost: host, adminPort: port } = this.#config.mysql;
    this.#session = await Session.open({ host, port, ...this.#config.accounts.watch }, WATCH_SQL_TIMEOUT_MS);
    return this.#session;
  }
}
