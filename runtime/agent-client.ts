// Typed client of a storage agent. Every call has a deadline; a reply to any other command than the one sent is not
// taken for an answer.
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import {
  AGENT_BODY_BYTES_MAX,
  AGENT_COMMANDS_PATH,
  AGENT_FAULTS_PATH,
  AGENT_HOLD_UPS_PATH,
  AGENT_OBSERVE_PATH,
  AGENT_SHUTDOWN_PATH,
  agentStateSchema,
  commandReplySchema,
  holdUpsSchema,
} from "../core/agent-wire.ts";
import type { AgentState, CommandArgs, CommandName, CommandReply, FaultRequest, HoldUp } from "../core/agent-wire.ts";
import { type HttpAnswer, HttpCalls } from "./http-calls.ts";

/** The agent gives up this much before the caller does, so that its answer still arrives. */
const ANSWER_MARGIN_MS = 100;
const CONNECTIONS_MAX = 4;

export interface AgentTarget {
  readonly server: string;
  readonly host: string;
  readonly port: number;
  readonly apiToken?: string | null;
}

/** No usable answer: not connected, not in time, not parseable. Whether the command was carried out is unknown. */
export class AgentUnreachable extends Error {
  override readonly name = "AgentUnreachable";
  readonly server: string;

  constructor(server: string, what: string, cause: unknown) {
    super(`agent of ${server}: ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.server = server;
  }
}

export class AgentClient {
  readonly server: string;
  readonly #origin: string;
  readonly #headers: Record<string, string>;
  readonly #calls: HttpCalls;

  constructor(target: AgentTarget) {
    this.server = target.server;
    this.#origin = `http://${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
    this.#headers = target.apiToken ? { authorization: `Bearer ${target.apiToken}` } : {};
    this.#calls = new HttpCalls(CONNECTIONS_MAX, AGENT_BODY_BYTES_MAX);
  }

  /** @throws AgentUnreachable */
  observe(deadlineMs: number): Promise<AgentState> {
    return this.#call("observe", "GET", AGENT_OBSERVE_PATH, undefined, deadlineMs, agentStateSchema);
  }

  /** What would hold up a graceful revoke now. @throws AgentUnreachable, also when mysqld does not answer */
  async holdUps(deadlineMs: number): Promise<readonly HoldUp[]> {
    const answer = await this.#call("hold-ups", "GET", AGENT_HOLD_UPS_PATH, undefined, deadlineMs, holdUpsSchema);
    return answer.holdUps;
  }

  /**
   * Sends one command under `epoch` and waits for its answer. A refusal is an answer (`ok: false`), not an exception.
   * @param agentRunId which an agent without a file wants to see
   * @throws AgentUnreachable
   */
  async command<C extends CommandName>(
    command: C,
    epoch: number,
    args: CommandArgs<C>,
    deadlineMs: number,
    agentRunId?: string,
  ): Promise<CommandReply> {
    const commandId = randomUUID();
    const budgetMs = Math.max(1, Math.floor(deadlineMs - ANSWER_MARGIN_MS));
    const body = JSON.stringify({ commandId, epoch, agentRunId, budgetMs, command, args });
    const reply = await this.#call(command, "POST", AGENT_COMMANDS_PATH, body, deadlineMs, commandReplySchema);
    if (reply.commandId === commandId) return reply;
    throw new AgentUnreachable(this.server, command, `answered another command, ${reply.commandId}`);
  }

  /** Orderly stop of mysqld and of its supervision, at the end of the day. @throws AgentUnreachable */
  async shutdown(deadlineMs: number): Promise<void> {
    await this.#fetch("shutdown", "POST", AGENT_SHUTDOWN_PATH, "{}", deadlineMs);
  }

  /** Arms a fault point; only where the agent runs with FAULT_POINTS=1. @throws AgentUnreachable */
  async fault(fault: FaultRequest, deadlineMs: number): Promise<void> {
    const { status, text } = await this.#fetch("fault", "POST", AGENT_FAULTS_PATH, JSON.stringify(fault), deadlineMs);
    if (status !== 200) throw new AgentUnreachable(this.server, "fault", `${status} ${text}`);
  }

  close(): Promise<void> {
    this.#calls.close();
    return Promise.resolve();
  }

  async #call<S extends z.ZodType>(
    what: string,
    method: "GET" | "POST",
    path: string,
    body: string | undefined,
    deadlineMs: number,
    schema: S,
  ): Promise<z.infer<S>> {
    const { status, text } = await this.#fetch(what, method, path, body, deadlineMs);
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      throw new AgentUnreachable(this.server, what, new Error(`status ${status}, not JSON`, { cause: error }));
    }
    const checked = schema.safeParse(parsed);
    if (checked.success) return checked.data;
    throw new AgentUnreachable(
      this.server,
      what,
      new Error(`status ${status}, unexpected answer`, { cause: checked.error }),
    );
  }

  async #fetch(
    what: string,
    method: "GET" | "POST",
    path: string,
    body: string | undefined,
    deadlineMs: number,
  ): Promise<HttpAnswer> {
    const headers = body === undefined ? this.#headers : { ...this.#headers, "content-type": "application/json" };
    try {
      return await this.#calls.call({ method, url: this.#origin + path, headers, body, deadlineMs });
    } catch (error) {
      throw new AgentUnreachable(this.server, what, error);
    }
  }
}
