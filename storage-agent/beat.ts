// The beat of an open source: a small write four times a second on a held session. It shows that commits are
// acknowledged, carries the time by which replicas know their lag, and frees commits whose acknowledgement was lost.
import type { z } from "zod";
import type { beatStateSchema } from "../core/agent-wire.ts";
import { BEAT_HANGS_AFTER_MS } from "../core/leading.ts";
import { monotonicMs } from "../runtime/clock.ts";
import type { AgentServerConfig } from "./config.ts";
import { writeBeat, writeNudge } from "./db/ha-writes.ts";
import { Session } from "./db/session.ts";

/** A commit may wait for its acknowledgement as long as it likes; the session is given up only with the connection. */
const PENDING_MAX_MS = 24 * 3_600_000;
const NUDGES_OUT_MAX = 8;

type BeatState = z.infer<typeof beatStateSchema>;

export class Beat {
  readonly #config: AgentServerConfig;
  #timer: NodeJS.Timeout | null = null;
  #session: Session | null = null;
  #connecting = false;
  #written = 0;
  #lastOkMs: number | null = null;
  #pendingSinceMs: number | null = null;
  #lastError: string | null = null;
  #nudgesOut = 0;
  #nudgeTurn = 0;
  #acker = "";

  constructor(config: AgentServerConfig) {
    this.#config = config;
  }

  get running(): boolean {
    return this.#timer !== null;
  }

  start(): void {
    if (this.#timer) return;
    this.#written = 0;
    this.#lastOkMs = null;
    this.#lastError = null;
    this.#timer = setInterval(() => void this.#tick(), this.#config.beatIntervalMs);
    void this.#tick();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#session?.destroy();
    this.#session = null;
  }

  /** Null while this server is not an open source. */
  state(): BeatState | null {
    if (!this.running) return null;
    const nowMs = monotonicMs();
    const pendingMs = this.#pendingSinceMs === null ? null : Math.round(nowMs - this.#pendingSinceMs);
    return {
      written: this.#written,
      lastOkAgeMs: this.#lastOkMs === null ? null : Math.round(nowMs - this.#lastOkMs),
      pendingMs,
      hangs: (pendingMs ?? 0) > BEAT_HANGS_AFTER_MS || this.#lastError !== null,
      lastError: this.#lastError,
    };
  }

  /**
   * Tells which receivers are connected. A replica that got a write but whose acknowledgement was lost sends it again
   * only with a later write: so while the beat hangs, each change of receivers is followed by one write more.
   */
  receiversAre(connected: string): void {
    const changed = connected !== this.#acker;
    this.#acker = connected;
    if (changed && connected !== "" && this.state()?.hangs === true) void this.#nudge();
  }

  /** One write that must be committed within `timeoutMs`. @throws MysqldDown, SqlError */
  async confirm(timeoutMs: number): Promise<void> {
    const session = await this.#open();
    try {
      await writeNudge(session, this.#nudgeTurn++, timeoutMs);
    } finally {
      session.destroy();
    }
  }

  async #tick(): Promise<void> {
    if (this.#pendingSinceMs !== null || this.#connecting) return;
    this.#connecting = true;
    try {
      if (this.#session === null || this.#session.lost) this.#session = await this.#open();
      if (!this.running) return this.#session.destroy();
      this.#pendingSinceMs = monotonicMs();
      await writeBeat(this.#session, PENDING_MAX_MS);
      this.#written += 1;
      this.#lastOkMs = monotonicMs();
      this.#lastError = null;
    } catch (error) {
      if (this.running) this.#lastError = error instanceof Error ? error.message : String(error);
    } finally {
      this.#pendingSinceMs = null;
      this.#connecting = false;
    }
  }

  async #nudge(): Promise<void> {
    if (this.#nudgesOut >= NUDGES_OUT_MAX) return;
    this.#nudgesOut += 1;
    try {
      await this.confirm(PENDING_MAX_MS);
    } catch (error) {
      this.#lastError = error instanceof Error ? error.message : String(error);
    } finally {
      this.#nudgesOut -= 1;
    }
  }

  #open(): Promise<Session> {
    const { adminHost: host, adminPort: port } = this.#config.mysql;
    return Session.open({ host, port, ...this.#config.accounts.watch });
  }
}
