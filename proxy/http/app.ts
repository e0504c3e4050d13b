// The proxy's HTTP surface, put together.
import { type Express, Router } from "express";
import type { Registry } from "prom-client";
import { openApiDocument } from "../../core/openapi.ts";
import { methodNotAllowed } from "../../runtime/edge/methods.ts";
import { strictApp } from "../../runtime/edge/strict-app.ts";
import { createApp, type Readiness } from "../../runtime/http-server.ts";
import type { ProxyContext } from "../context.ts";
import { docsPage } from "./docs-page.ts";
import type { Intake } from "./handler.ts";
import { observeRequests } from "./observe.ts";
import { merchantRoutes } from "./routes.ts";

const READ_METHODS = ["GET", "HEAD"];
const DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

export function proxyApp(ctx: ProxyContext, intake: Intake, registry: Registry, readiness: () => Readiness): Express {
  const routes = { "/v1": merchantRoutes(ctx, intake), "/": documentation() };
  return strictApp(routes, createApp(registry, readiness), ctx.logger, observeRequests(ctx));
}

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
