// HAProxy's questions. Convenience for clients, never a safety mechanism.
import { monotonicMs } from "../runtime/clock.ts";
import type { AgentParts } from "./context.ts";
import type { RawState } from "./db/read-state.ts";
import type { Health } from "./http.ts";
import { roleOf } from "./role.ts";

/** An older look says nothing any more. */
const LOOK_AGE_MAX_MS = 1_500;

/** 200 while clients may write here: open, and not revoked since it was opened. */
export function writerHealth(parts: AgentParts): Health {
  const raw = recent(parts);
  if (raw === null) return no("mysqld does not answer");
  if (monotonicMs() < parts.told.drainUntilMs) return { ok: false, text: "closing", draining: true };
  const { file } = parts.state;
  if (file === null || file.openEpoch === 0 || file.revoked) return no("revoked, or never opened");
  const role = roleOf(raw.mysql);
  return role === "open" ? { ok: true, text: "open" } : no(role);
}

/** 200 while reads here are at most `readerLagMaxMs` old. */
export function readerHealth(parts: AgentParts): Health {
  const { config, state } = parts;
  const raw = recent(parts);
  if (raw === null) return no("mysqld does not answer");
  if (state.judgement.data === "VOID") return no("void data");
  const { receiver, superReadOnly } = raw.mysql;
  const source = config.peers.find(({ name }) => name === state.file?.followSource);
  if (!superReadOnly || receiver === null || source === undefined) return no("not a follower");
  if (receiver.sourceHost !== source.host || receiver.sourcePort !== source.port) return no("follows another server");
  if (receiver.io !== "Yes" || !receiver.applierRunning) return no("replication is not running");
  if (raw.lagMs === null || raw.lagMs > config.readerLagMaxMs) return no(`lags ${raw.lagMs ?? "?"} ms`);
  return { ok: true, text: `follows ${source.name}` };
}

function recent(parts: AgentParts): RawState | null {
  const { raw, atMs } = parts.watcher.last;
  return monotonicMs() - atMs <= LOOK_AGE_MAX_MS ? raw : null;
}

function no(text: string): Health {
  return { ok: false, text };
}
