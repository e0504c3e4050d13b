import { json, type Express, type Request, type Response } from "express";
import { z } from "zod";
import { SERVERS_PATH, type WireServer, type WireServers } from "../core/schemas/wire-servers.ts";
import { monotonicMs } from "../runtime/clock.ts";
import type { ControlDb } from "./db/control-db.ts";
import { recentRecoveries } from "./db/read-recoveries.ts";
import type { FaultPoints } from "./failover/faults.ts";
import type { ServerView } from "./failover/server-view.ts";
import type { TripleController } from "./failover/triple-controller.ts";

const RECOVERIES_SHOWN = 20;
const READ_DEADLINE_MS = 1_000;

/** `GET /triples`: for people; the record, what is wrong, what each server is, what was done lately. */
export function addTripleRoutes(app: Express, triples: readonly TripleController[], db: ControlDb): void {
  app.get("/triples", async (_req: Request, res: Response) => {
    res.json({ triples: await Promise.all(triples.map((triple) => describe(triple, db))) });
  });
}

/** `GET /servers`: for the ops API. */
export function addServerRoutes(app: Express, triples: readonly TripleController[]): void {
  app.get(SERVERS_PATH, (_req: Request, res: Response) => {
    const report: WireServers = {
      triples: triples.map((triple) => {
        const { tripleId, leads, views } = triple.status();
        return { triple_id: tripleId, leads, servers: views.map(serverOf) };
      }),
    };
    res.json(report);
  });
}

function serverOf({ name, state, lastError, failures, answeredAtMs }: ServerView): WireServer {
  const receiver = state?.mysql?.receiver;
  const faults = [failures > 0 ? lastError : null, state?.mysqlError, receiver?.ioError, receiver?.applierError];
  return {
    server: name,
    role: state?.role ?? null,
    data: state?.data ?? null,
    lag_ms: state?.lagMs ?? null,
    free_bytes: state?.disk?.freeBytes ?? null,
    total_bytes: state?.disk?.totalBytes ?? null,
    fault: faults.find((text) => text) ?? null,
    answered_ago_ms: state === null ? null : Math.round(monotonicMs() - answeredAtMs),
  };
}

async function describe(triple: TripleController, db: ControlDb): Promise<Record<string, unknown>> {
  const { views, problems, ...status } = triple.status();
  const read = db.run(READ_DEADLINE_MS, (sql) => recentRecoveries(sql, status.tripleId, RECOVERIES_SHOWN));
  return {
    ...status,
    problems: problems.map(({ code, server, detail, recovery, page }) => {
      return { code, server: server ?? null, detail: detail ?? null, page, action: recovery?.do ?? null };
    }),
    servers: views.map(describeServer),
    recoveries: await read.catch((error: unknown) => ({ unavailable: (error as Error).message })),
  };
}

function describeServer(view: ServerView): Record<string, unknown> {
  const { name, state, failures, lastError, answeredAtMs } = view;
  const answeredAgoMs = Math.round(monotonicMs() - answeredAtMs);
  return { name, role: state?.role ?? null, data: state?.data ?? null, failures, lastError, answeredAgoMs, state };
}

const faultSchema = z.strictObject({
  point: z.string().min(1).max(80),
  mode: z.enum(["crash", "hold", "fail", "off"]),
});

/** `POST /faults` and `GET /faults`: for tests; only with FAULT_POINTS=1. */
export function addFaultRoutes(app: Express, faults: FaultPoints): void {
  app.post("/faults", json(), (req: Request, res: Response) => {
    const parsed = faultSchema.safeParse(req.body);
    if (!parsed.success) return void res.status(400).json({ error: z.prettifyError(parsed.error) });
    faults.arm(parsed.data.point, parsed.data.mode);
    res.json({ armed: parsed.data });
  });
  app.get("/faults", (_req: Request, res: Response) => {
    res.json({ reached: faults.reached() });
  });
}
