// The proxy's HTTP surface, put together.
import express, { type ErrorRequestHandler, type Express, type RequestHandler, Router } from "express";
import type { Registry } from "prom-client";
import { DomainError } from "../../core/errors.ts";
import { openApiDocument } from "../../core/openapi.ts";
import { createApp, type Readiness } from "../../runtime/http-server.ts";
import { notFound, problemHandler, withRequestId } from "../../runtime/send-problem.ts";
import type { ProxyContext } from "../context.ts";
import { BodyCutOff } from "./body.ts";
import { docsPage } from "./docs-page.ts";
import type { Intake } from "./handler.ts";
import { observeRequests } from "./observe.ts";
import { merchantRoutes, methodNotAllowed } from "./routes.ts";
import { SAFE_HEADERS } from "./safe-headers.ts";

const READ_METHODS = ["GET", "HEAD"];
const DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

export function proxyApp(ctx: ProxyContext, intake: Intake, registry: Registry, readiness: () => Readiness): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.use(withRequestId, safeHeaders, observeRequests(ctx));
  app.use("/v1", merchantRoutes(ctx, intake));
  app.use(documentation());
  app.use(createApp(registry, readiness));
  app.all(["/healthz", "/readyz", "/metrics"], methodNotAllowed(READ_METHODS));
  app.use(notFound, unreadableRequests, problemHandler(ctx.logger));
  return app;
}

const safeHeaders: RequestHandler = (req, res, next) => {
  for (let i = 0; i < SAFE_HEADERS.length; i += 2) res.setHeader(SAFE_HEADERS[i] ?? "", SAFE_HEADERS[i + 1] ?? "");
  if (req.headers.host === undefined && req.httpVersion === "1.1") {
    throw new DomainError("INVALID_REQUEST", "the Host header is missing");
  }
  next();
};

function documentation(): Router {
  const document = openApiDocument();
  const json = JSON.stringify(document);
  const page = docsPage(document);
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/openapi.json", (_req, res) => {
    res.type("application/json").send(json);
  });
  router.get("/docs", (_req, res) => {
    res.setHeader("Content-Security-Policy", DOCS_POLICY);
    res.type("text/html").send(page);
  });
  router.all(["/openapi.json", "/docs"], methodNotAllowed(READ_METHODS));
  return router;
}

/** Faults that Express or Node found in a request, before the last handler that takes everything else for ours. */
const unreadableRequests: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (error instanceof BodyCutOff) return void res.destroy();
  res.locals.code = error instanceof DomainError ? error.code : "SYSTEM_ERROR";
  // What is left of a body that was refused is not read: the connection cannot be used again.
  if (!req.complete && req.method !== "GET") res.setHeader("Connection", "close");
  const status = (error as { status?: unknown } | null)?.status;
  if (!(error instanceof DomainError) && (status === 400 || error instanceof URIError)) {
    res.locals.code = "INVALID_REQUEST";
    return next(new DomainError("INVALID_REQUEST", "the path is not well formed"));
  }
  next(error);
};
