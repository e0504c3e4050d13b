// HTTP of one agent, on plain node:http: HAProxy asks four times a second, controllers as often.
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { timingSafeEqual } from "node:crypto";
import {
  AGENT_BODY_BYTES_MAX,
  AGENT_COMMANDS_PATH,
  AGENT_FAULTS_PATH,
  AGENT_HOLD_UPS_PATH,
  AGENT_OBSERVE_PATH,
  AGENT_SHUTDOWN_PATH,
  commandRequestSchema,
  faultRequestSchema,
} from "../core/agent-wire.ts";
import type { AgentState, CommandReply, CommandRequest, FaultRequest, HoldUp } from "../core/agent-wire.ts";

const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const DRAIN_MAX_MS = 5_000;
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

export interface Health {
  readonly ok: boolean;
  readonly text: string;
  /** Not ok for new clients; those that are here get an answer yet. HAProxy's `disable-on-404`. */
  readonly draining?: boolean;
}

/** What an agent answers; no method rejects for reasons of the server's state. */
export interface AgentEndpoints {
  observe(): Promise<AgentState>;
  command(request: CommandRequest): Promise<CommandReply>;
  /** Rejects when mysqld does not answer. */
  holdUps(): Promise<readonly HoldUp[]>;
  shutDown(): Promise<Health>;
  /** False: fault points are off. */
  fault(request: FaultRequest): boolean;
  writer(): Health;
  reader(): Health;
  /** Null: this agent's port has no metrics. */
  metrics(): Promise<{ readonly contentType: string; readonly text: string }> | null;
}

/** Listens; rejects with a clear message when the address is taken. */
export async function listenAgent(
  endpoints: AgentEndpoints,
  at: { readonly host: string; readonly port: number; readonly apiToken: string | null },
): Promise<Server> {
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS },
    (request, response) => {
      route(endpoints, at.apiToken, request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else sendJson(response, 500, { error: error instanceof Error ? error.message : String(error) });
      });
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = error.code === "EADDRINUSE";
      reject(taken ? new Error(`${at.host}:${at.port} is already in use by another process`) : error);
    });
    server.listen(at.port, at.host, resolve);
  });
  return server;
}

/** Stops accepting, lets requests in flight finish within a bound, then closes what is left. */
export async function closeAgentServer(server: Server): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), DRAIN_MAX_MS);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeIdleConnections();
  });
  clearTimeout(force);
}

async function route(
  endpoints: AgentEndpoints,
  apiToken: string | null,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? "").split("?", 1)[0];
  switch (`${request.method} ${path}`) {
    case "GET /writer":
    case "HEAD /writer":
    case "OPTIONS /writer": // HAProxy's httpchk default
      return sendHealth(response, endpoints.writer());
    case "GET /reader":
    case "HEAD /reader":
    case "OPTIONS /reader":
      return sendHealth(response, endpoints.reader());
    case "GET /healthz":
      return sendHealth(response, { ok: true, text: "ok" });
    case "GET /metrics":
      return sendMetrics(response, endpoints);
    case `GET ${AGENT_OBSERVE_PATH}`:
      return sendJson(response, 200, await endpoints.observe());
    case `GET ${AGENT_HOLD_UPS_PATH}`:
      return sendJson(response, 200, { holdUps: await endpoints.holdUps() });
    case `POST ${AGENT_COMMANDS_PATH}`:
    case `POST ${AGENT_SHUTDOWN_PATH}`:
    case `POST ${AGENT_FAULTS_PATH}`:
      if (!authorised(request, apiToken)) return sendJson(response, 401, { error: "a bearer token is needed" });
      return post(endpoints, path ?? "", request, response);
    default:
      sendJson(response, 404, { error: "no such path" });
  }
}

async function post(
  endpoints: AgentEndpoints,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readJson(request);
  if (path === AGENT_SHUTDOWN_PATH) {
    const { ok, text } = await endpoints.shutDown();
    return sendJson(response, ok ? 200 : 409, { status: text });
  }
  if (path === AGENT_FAULTS_PATH) {
    const fault = faultRequestSchema.safeParse(body);
    const armed = fault.success && endpoints.fault(fault.data);
    return sendJson(response, armed ? 200 : 400, armed ? {} : { error: "bad fault, or fault points are off" });
  }
  const parsed = commandRequestSchema.safeParse(body);
  if (!parsed.success) {
    const reason = parsed.error.issues.map((i) => `${i.path.join(".")}: ${i.message}`).join("; ");
    const commandId = (body as { commandId?: unknown } | null)?.commandId;
    const reply: CommandReply = {
      ok: false,
      commandId: typeof commandId === "string" ? commandId : "",
      code: "BAD_REQUEST",
      reason,
      fileEpoch: null,
    };
    return sendJson(response, 400, reply);
  }
  const reply = await endpoints.command(parsed.data);
  sendJson(response, statusOf(reply), reply);
}

function statusOf(reply: CommandReply): number {
  if (reply.ok) return 200;
  switch (reply.code) {
    case "BAD_REQUEST":
      return 400;
    case "STALE_EPOCH":
    case "VOID":
    case "REFUSED":
    case "STILL_OPEN":
    case "MISCONFIGURED":
      return 409;
    case "BUSY":
    case "NOT_SWEPT":
    case "MYSQLD_DOWN":
      return 503;
    case "FAILED":
      return 500;
  }
}

/** Undefined when it is not JSON. @throws Error when the body is too long */
async function readJson(request: IncomingMessage): Promise<unknown> {
  let size = 0;
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > AGENT_BODY_BYTES_MAX) throw new Error(`the body is longer than ${AGENT_BODY_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  }
}

function authorised(request: IncomingMessage, apiToken: string | null): boolean {
  if (apiToken === null) return true;
  const given = Buffer.from(request.headers.authorization ?? "");
  const wanted = Buffer.from(`Bearer ${apiToken}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function sendMetrics(response: ServerResponse, endpoints: AgentEndpoints): Promise<void> {
  const metrics = await endpoints.metrics();
  if (metrics === null) return sendJson(response, 404, { error: "metrics are on the first agent's port" });
  send(response, 200, metrics.contentType, metrics.text);
}

function sendHealth(response: ServerResponse, { ok, text, draining }: Health): void {
  send(response, ok ? 200 : draining === true ? 404 : 503, "text/plain", `${text}\n`);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json", JSON.stringify(body));
}

/** With its length said, head and body leave in one write. */
function send(response: ServerResponse, status: number, contentType: string, text: string): void {
  const length = Buffer.byteLength(text);
  response.writeHead(status, { "content-type": contentType, "content-length": length }).end(text);
}
