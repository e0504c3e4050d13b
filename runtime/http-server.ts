import { createServer, type RequestListener, type Server } from "node:http";
import { randomUUID } from "node:crypto";
import express, { type Express, type Request, type Response } from "express";
import type { Registry } from "prom-client";
import { wallNowIso } from "./clock.ts";

const HEADERS_TIMEOUT_MS = 10_000;
/** How long a request may take to arrive, from its first byte to the last of its body. */
export const REQUEST_ARRIVAL_MS = 10_000;
/** How often Node looks for requests that are late. */
const LATE_CHECK_MS = 1_000;
/** Longer than any client of ours keeps an idle connection, so that the client closes first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
const DRAIN_MAX_MS = 5_000;

const REQUEST_ID = /^[0-9A-Za-z._:-]{1,64}$/;

/** The caller's `Request-Id` when it is sane, else a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === "string" && REQUEST_ID.test(header) ? header : randomUUID();
}

/** W3C Trace Context: version, trace id, parent id, flags; later versions may have more fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The caller's `traceparent` when it has the form of one; else undefined, and nothing is passed on. */
export function traceparentOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" && TRACEPARENT.test(header) ? header : undefined;
}

export interface Readiness {
  readonly ready: boolean;
  /** Why not ready, or facts worth seeing; never secrets. */
  readonly detail: Record<string, unknown>;
}

/** An Express app with the three endpoints that every process has: `/healthz`, `/readyz`, `/metrics`. */
export function createApp(metrics: Registry, readiness: () => Readiness): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  app.get("/healthz", (_req: Request, res: Response) => {
    res.json({ status: "ok", time: wallNowIso() });
  });
  app.get("/readyz", (_req: Request, res: Response) => {
    const { ready, detail } = readiness();
    res.status(ready ? 200 : 503).json({ status: ready ? "ready" : "not ready", ...detail });
  });
  app.get("/metrics", async (_req: Request, res: Response) => {
    res.type(metrics.contentType).send(await metrics.metrics());
  });
  return app;
}

/** Listens; rejects with a clear message when the address is taken. */
export function listen(
  app: RequestListener,
  host: string,
  port: number,
  requestArrivalMs: number = REQUEST_ARRIVAL_MS,
): Promise<Server> {
  const server = createServer(
    {
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestArrivalMs),
      requestTimeout: requestArrivalMs,
      connectionsCheckingInterval: LATE_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    },
    app,
  );
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new Error(`${host}:${port} is already in use by another process`) : error);
    });
    server.listen(port, host, () => resolve(server));
  });
}

/** Stops accepting, lets requests in flight finish within a bound, then closes what is left. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), DRAIN_MAX_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}
