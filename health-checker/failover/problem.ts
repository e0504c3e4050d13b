// The words of the problem table.
import type { SwitchoverRequest } from "../db/switchover-requests.ts";
import type { Facts } from "./facts.ts";

export type Recovery =
  | { readonly do: "birth" }
  | { readonly do: "restore-record" }
  /**
   * REVOKE … PROMOTE … IDLE. `prefer`: leads if it may; `avoid`: only if nobody else may; `killSource`: its pending writes
   * stand in the way.
   */
  | {
      readonly do: "lead";
      readonly prefer: string | null;
      readonly avoid?: string;
      readonly killSource: boolean;
    }
  | { readonly do: "resume-promote" }
  | { readonly do: "abort" }
  | { readonly do: "narrow"; readonly server: string }
  | { readonly do: "leave-narrow" }
  /** `rebuild`: what is there is not to be followed up even when its transactions are all known. */
  | { readonly do: "rejoin"; readonly server: string; readonly rebuild: boolean }
  | { readonly do: "settle" }
  /** The source itself becomes a member of the ack-set. */
  | { readonly do: "cover" }
  | { readonly do: "switchover"; readonly request: SwitchoverRequest; readonly target: string }
  | { readonly do: "refuse-switchover"; readonly request: SwitchoverRequest; readonly reason: string };

export interface Match {
  /** The server that it is about. */
  readonly server?: string;
  readonly detail?: string;
  /** Null: a person must look, or nothing is to be done. */
  readonly recovery: Recovery | null;
  /** False: nothing is done about it now, and what is further down need not wait for it. Else as its row says. */
  readonly blocks?: false;
}

export interface ProblemRow {
  /** The same in log, metric, audit and console. */
  readonly code: string;
  /** While it holds, nothing further down is acted on. */
  readonly blocks: boolean;
  /** A person must know at once. */
  readonly page: boolean;
  matches(facts: Facts): Match | null;
}

export interface Problem extends Omit<Match, "blocks"> {
  readonly code: string;
  readonly blocks: boolean;
  readonly page: boolean;
  /** Position in the table: smaller is more pressing. */
  readonly rank: number;
}
