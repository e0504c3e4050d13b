// Assertion A8: what must hold on an open source, looked at about once a second.
import type { AgentParts } from "./context.ts";
import type { RawState } from "./db/read-state.ts";
import { wrongSourceSettings } from "./db/roles.ts";
import { roleOf } from "./role.ts";

const UNINVITED_LOOKS = 8;

export class SourceAlarms {
  readonly #parts: AgentParts;
  /** Counters at the first look of this reign; a later rise means a commit that no replica acknowledged. */
  #baseline: { readonly serverStarts: number; readonly noTx: number; readonly noTimes: number } | null = null;
  #uninvitedLooks = 0;
  #alarms: readonly string[] = [];

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  get alarms(): readonly string[] {
    return this.#alarms;
  }

  look(raw: RawState | null): void {
    const { state, told, supervisor } = this.#parts;
    const reigns = state.file !== null && state.file.openEpoch > 0 && !state.file.revoked;
    if (raw === null || !reigns || raw.mysql.readOnly) {
      this.#baseline = null;
      this.#alarms = [];
      return;
    }
    const { mysql, settings } = raw;
    const alarms = wrongSourceSettings(settings);
    if (roleOf(mysql) !== "open") alarms.push("writable, but semi-sync is off");
    const serverStarts = supervisor?.starts ?? 0;
    if (this.#baseline?.serverStarts !== serverStarts) {
      this.#baseline = { serverStarts, noTx: mysql.noTx, noTimes: mysql.noTimes };
    }
    if (mysql.noTx !== this.#baseline.noTx) alarms.push("a commit was acknowledged by no replica");
    if (mysql.noTimes !== this.#baseline.noTimes) alarms.push("semi-sync was switched off meanwhile");
    const { replicas } = told;
    if (replicas !== null) {
      const strangers = mysql.unlockedAccounts.filter((user) => !replicas.includes(user));
      if (strangers.length > 0) alarms.push(`unlocked, but not let in: ${strangers.join(", ")}`);
    }
    this.#lookAtDumpThreads(raw, alarms);
    this.#alarms = alarms;
  }

  /** A dump thread of an account that was just locked is about to be ended; one that stays is an alarm. */
  #lookAtDumpThreads({ mysql }: RawState, alarms: string[]): void {
    const uninvited = mysql.dumpThreads.filter(({ user }) => !mysql.unlockedAccounts.includes(user));
    this.#uninvitedLooks = uninvited.length > 0 ? this.#uninvitedLooks + 1 : 0;
    if (this.#uninvitedLooks < UNINVITED_LOOKS) return;
    alarms.push(`dump threads of locked accounts: ${uninvited.map(({ user }) => user).join(", ")}`);
  }
}
