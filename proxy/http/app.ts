// The proxy's HTTP surface, put together.
import type { Express } from "express";
import type { Registry } from "prom-client";
import { openApiDocument } from "../../core/openapi.ts";
import { documentation } from "../../runtime/edge/documentation.ts";
import { strictApp } from "../../runtime/edge/strict-app.ts";
import { createApp, type Readiness } from "../../runtime/http-server.ts";
import type { ProxyContext } from "../context.ts";
import type { Intake } from "./handler.ts";
import { observeRequests } from "./observe.ts";
import { merchantRoutes } from "./routes.ts";

export function proxyApp(ctx: ProxyContext, intake: Intake, registry: Registry, readiness: () => Readiness): Express {
  const routes = { "/v1": merchantRoutes(ctx, intake), "/": documentation(openApiDocument()) };
  return strictApp(routes, createApp(registry, readiness), ctx.logger, observeRequests(ctx));
}
