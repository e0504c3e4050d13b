// What a leader remembers of a triple between two looks, and how each recovery changes it.
import { monotonicMs } from "../../runtime/clock.ts";
import { factsOf, isWhole } from "./facts.ts";
import type { GtidSet } from "./gtid-set.ts";
import { freshMemory, setOf, type Memory, type Snapshot } from "./snapshot.ts";
import { REPAIR_FORGET_MS } from "./thresholds.ts";

export class LeaderMemory {
  #now: Memory = freshMemory(monotonicMs());
  /** The last recovery that opened a source: what settles it is written down there. */
  lastLeadId: string | null = null;

  get now(): Memory {
    return this.#now;
  }

  /** A new lead begins with no memory of an earlier one. */
  forget(): void {
    this.#now = freshMemory(monotonicMs());
    this.lastLeadId = null;
  }

  repairBegan(server: string, beatHung: boolean): void {
    const nowMs = monotonicMs();
    const before = this.#now.repairs.get(server);
    const count = before === undefined || nowMs - before.lastMs > REPAIR_FORGET_MS ? 1 : before.count + 1;
    const repairs = new Map([...this.#now.repairs, [server, { count, lastMs: nowMs }] as const]);
    const receiversRestartedMs = this.#now.receiversRestartedMs ?? (beatHung ? nowMs : null);
    this.#now = { ...this.#now, repairs, receiversRestartedMs };
  }

  rebuilding(server: string, begins: boolean): void {
    const rebuilding = new Set(this.#now.rebuilding);
    const mustRebuild = new Set(this.#now.mustRebuild);
    if (begins) rebuilding.add(server);
    else rebuilding.delete(server);
    if (begins) mustRebuild.delete(server);
    this.#now = { ...this.#now, rebuilding, mustRebuild };
  }

  /** A comparison under an epoch has shown that it must not be followed up. */
  mustRebuild(server: string): void {
    this.#now = { ...this.#now, mustRebuild: new Set([...this.#now.mustRebuild, server]) };
  }

  sourceLeads(changed: boolean, base: GtidSet | null, recoveryId: string): void {
    const nowMs = monotonicMs();
    this.lastLeadId = recoveryId;
    this.#now = {
      ...this.#now,
      settleBase: base,
      receiversRestartedMs: null,
      lastBlockedMs: null,
      blockedInARow: 0,
      repairs: new Map(),
    };
    if (changed) this.#now = { ...this.#now, sourceChangedMs: nowMs, wholeSinceChange: false };
  }

  /** What a follower must hold to stand in for the source is not known any more. */
  mustSettleAnew(): void {
    this.#now = { ...this.#now, settleBase: null };
  }

  sourceKilled(): void {
    this.#now = { ...this.#now, sourceKilledMs: monotonicMs() };
  }

  blocked(): void {
    const blockedInARow = this.#now.blockedInARow + 1;
    this.#now = { ...this.#now, lastBlockedMs: monotonicMs(), blockedInARow };
  }

  /** Takes from a look what later looks need. */
  learn(snapshot: Snapshot): void {
    const { record } = snapshot;
    if (record === null) return;
    const facts = factsOf(snapshot, record);
    if (isWhole(facts) && (!this.#now.wholeSinceChange || this.#now.repairs.size > 0)) {
      this.#now = { ...this.#now, wholeSinceChange: true, repairs: new Map() };
    }
    const { sourceMysql, sourceOpen } = facts;
    if (sourceOpen && facts.beatHangsMs === 0 && this.#now.receiversRestartedMs !== null) {
      this.#now = { ...this.#now, receiversRestartedMs: null };
    }
    const untouched = snapshot.views.every((view) => (view.state?.alarms.length ?? 0) === 0);
    if (this.#now.settleBase === null && untouched && sourceOpen && sourceMysql !== null && record.phase === "IDLE") {
      this.#now = { ...this.#now, settleBase: setOf(sourceMysql) };
    }
  }
}
