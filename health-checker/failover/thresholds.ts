// Every time and number that a decision of the failover depends on. Safety depends on none of them: a wrong one costs a
// needless change of source or a longer outage, never a write.
//
// The machine may be busy, and a busy machine makes everything late at once. So nothing is decided by one late answer:
// a server that is *known* dead (its agent saw the process end, or the connection is refused) is acted on at once; a
// silent one only after two looks of its own agent in a row found no answer (each waits 0.8 s) and its beat has hung
// for 1.5 s, which a starved but living mysqld does not show.

import { BEAT_HANGS_AFTER_MS, LEADS_WITHIN_MS, RECEIVING_WITHIN_MS } from "../../core/leading.ts";

/** Between two looks at the same agent. */
export const POLL_INTERVAL_MS = 250;
/** The same while the last look failed: whether it is gone should be known soon. */
export const POLL_AGAIN_MS = 150;
/** Longer than an agent needs to find out that its mysqld does not answer (0.8 s). */
export const POLL_DEADLINE_MS = 1_500;
/** A poll loop this late says that this process itself was not running: what it has counted so far is void. */
export const SELF_STALL_MS = 1_000;

/** Refused connections in a row, or failed polls of any kind, after which an agent counts as gone. */
export const AGENT_LOST_POLLS = 3;
/** An agent that has said nothing for so long counts as gone, and is not believed any more. */
export const AGENT_SILENT_MS = 2_500;

/** Looks in a row at which an agent found its mysqld silent. */
export const SILENT_LOOKS = 2;
/** With which the beat of an open source must have hung, or mysqld been silent. */
export const SILENT_MS = 1_500;
/** A source whose mysqld answers but whose beat does not commit is left alone so long: a stalled disk may come back. */
export const BEAT_STALL_MS = 3_000;
/** After the receivers were restarted, the acknowledgements have so long to flow again. */
export const AFTER_RECEIVERS_MS = 5_000;
/** A source never seen open by this leader is probably starting: it may take so long before others are asked. */
export const SOURCE_START_GRACE_MS = 5_000;

/** A replica that follows but does not receive is given so long to reconnect by itself. */
export const NOT_RECEIVING_MS = 3_000;
/** A member that cannot be read is dropped from the ack-set after so long, so that a crash of the source is survivable. */
export const NARROW_AFTER_MS = 5_000;
/** The same for a member that answers but does not receive whatever is done. */
export const NARROW_NOT_RECEIVING_MS = 12_000;
/** Errant transactions, a broken applier or a wrong role must be seen for so long. */
export const BROKEN_FOR_MS = 1_500;
/** Repairs of one server: the wait doubles from the first to the last. */
export const REPAIR_BACKOFF_MIN_MS = 250;
export const REPAIR_BACKOFF_MAX_MS = 15_000;
/** A repair that failed longer ago than this is forgotten. */
export const REPAIR_FORGET_MS = 60_000;
/** Rejoins that did not help before a server whose receiver or applier is broken is rebuilt. */
export const REJOINS_BEFORE_REBUILD = 2;
/** Applied beats older than this are shown as a problem; readers are kept away by the agent itself. */
export const LAG_MAX_MS = 10_000;

/** A second change of source by itself needs a triple that was whole meanwhile, or a source gone for so long. */
export const ANTI_FLAP_MS = 600_000;
export const ANTI_FLAP_GONE_MS = 15_000;
/** An open source whose only possible ackers have to be rebuilt first hangs so long before it is closed for that. */
export const NO_ACKER_MS = 8_000;
/** Between two kills of a source whose beat hangs while a member is away. */
export const KILL_SOURCE_EVERY_MS = 60_000;

export const LEASE_TTL_MS = 3_000;
export const LEASE_RENEW_MS = 800;
/** Nothing is begun in the last part of a lease. */
export const LEASE_MARGIN_MS = 1_000;
/** Between two looks of a controller that does not lead. */
export const STANDBY_INTERVAL_MS = 500;
export const CONTROL_DB_DEADLINE_MS = 1_000;
/** A compare-and-set whose answer was lost is settled within this, or the recovery stops. */
export const CAS_SETTLE_MS = 8_000;

/** Deadlines of commands. A revoke that kills includes mysqld's exit and crash recovery. */
export const REVOKE_DEADLINE_MS = 20_000;
export const REVOKE_GRACEFUL_DEADLINE_MS = 3_000;
/** How long REVOKE waits for enough replies before it is tried anew. */
export const READ_WAIT_MS = 6_000;
/** When enough have replied, the others have so long to be followers from the start. */
export const READ_EXTRA_MS = 150;
/** The same where the source itself is wanted: it may still be starting. */
export const READ_PREFERRED_MS = 3_000;
/** With nobody to follow the new source, its opening waits so long for one that is on its way: it could not commit. */
export const READ_ALONE_MS = 8_000;
export const APPLY_DEADLINE_MS = 30_000;
export const PREPARE_DEADLINE_MS = 6_000;
export const FOLLOW_DEADLINE_MS = 5_000;
export const OPEN_DEADLINE_MS = 4_000;
export const ADMIT_DEADLINE_MS = 3_000;
export const CUT_DEADLINE_MS = 8_000;
export const OBSERVE_DEADLINE_MS = 1_500;
/** A rebuild copies all data. */
export const REBUILD_DEADLINE_MS = 6 * 3_600_000;
/** N3: the remaining member has so long to catch up. */
export const COVER_WAIT_MS = 5_000;
/** A switchover is undone when its target has not caught up by then; writes wait meanwhile. */
export const CATCH_UP_MS = 1_500;
/** Pre-checks of a switchover. */
export const SWITCHOVER_LAG_MAX_MS = 500;

/** Between two reads of a wait inside a recovery. */
export const STEP_POLL_MS = 15;
export const AUDIT_QUEUE_MAX = 1_000;

/** Fails at start when two limits contradict each other. */
export function assertThresholds(): void {
  const ordered = [
    [POLL_INTERVAL_MS, POLL_DEADLINE_MS, "a poll interval below its deadline"],
    [POLL_DEADLINE_MS, AGENT_SILENT_MS, "an agent counts as silent only after a whole poll"],
    [LEASE_RENEW_MS, LEASE_TTL_MS - LEASE_MARGIN_MS, "a lease is renewed before it may not be used any more"],
    [CONTROL_DB_DEADLINE_MS, LEASE_TTL_MS - LEASE_MARGIN_MS, "a renewal may fail once"],
    [LEADS_WITHIN_MS, RECEIVING_WITHIN_MS, "a source that is replaced unseen is not believed to lead any more"],
    [LEADS_WITHIN_MS, BEAT_HANGS_AFTER_MS, "the same of one whose beat hangs"],
    [LEADS_WITHIN_MS, SILENT_MS, "the same of one that is silent"],
    [NOT_RECEIVING_MS, NARROW_NOT_RECEIVING_MS, "a receiver is restarted before its member is dropped"],
  ] as const;
  for (const [less, more, why] of ordered) {
    if (less >= more) throw new Error(`thresholds contradict each other (${less} ≥ ${more}): ${why}`);
  }
}
