// What a command has in its hands.
import type { AgentFailureCode } from "../core/agent-wire.ts";
import type { Deadline } from "../runtime/clock.ts";
import type { Logger } from "../runtime/logger.ts";
import type { Beat } from "./beat.ts";
import type { AgentServerConfig } from "./config.ts";
import type { DiskWatch } from "./disk-space.ts";
import type { Faults } from "./faults.ts";
import type { RoleSessions } from "./role-sessions.ts";
import type { StateFile } from "./state-file.ts";
import type { Supervisor } from "./supervisor.ts";
import type { Watcher } from "./watcher.ts";

export interface AgentParts {
  readonly config: AgentServerConfig;
  readonly logger: Logger;
  readonly state: StateFile;
  /** Null: mysqld belongs to somebody else. */
  readonly supervisor: Supervisor | null;
  readonly sessions: RoleSessions;
  readonly watcher: Watcher;
  readonly beat: Beat;
  readonly disk: DiskWatch;
  readonly faults: Faults;
  /** Accounts that this source was last told to let in; null after the agent's own restart. */
  readonly told: {
    replicas: readonly string[] | null;
    /** Monotonic time until which HAProxy sends nobody new here, and leaves alone who is here. */
    drainUntilMs: number;
  };
}

export interface CommandContext extends AgentParts {
  readonly epoch: number;
  readonly deadline: Deadline;
  /** AgentFile.revoked before this command. */
  readonly wasRevoked: boolean;
  /** To be awaited right before the first statement that changes something. */
  beforeSql(): Promise<void>;
}

/** The command was not carried out, for a reason that the caller can act on. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: AgentFailureCode;

  constructor(code: AgentFailureCode, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** @throws Refusal with code REFUSED unless `condition` holds */
export function refuseUnless(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Refusal("REFUSED", reason);
}

/** What a command adds to its reply. */
export interface CommandExtras {
  readonly firstWriteCommitted?: boolean;
  readonly archivedTail?: string | null;
  /** What is left to do after the reply and before the next command. */
  readonly afterReply?: () => Promise<void>;
}
