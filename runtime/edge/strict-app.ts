import express, { type Express, type RequestHandler, type Router } from "express";
import type { Logger } from "../logger.ts";
import { notFound, problemHandler, withRequestId } from "../send-problem.ts";
import { methodNotAllowed } from "./methods.ts";
import { safeHeaders } from "./safe-headers.ts";
import { unreadableRequests } from "./unreadable.ts";

/**
 * An app for callers from outside: paths are taken letter by letter, every answer has a `Request-Id` and safe headers,
 * and every fault is a problem document.
 * @param routes routers by the path that they are under
 * @param common what every process has (`createApp`)
 * @param observe sees every request
 */
export function strictApp(
  routes: Readonly<Record<string, Router>>,
  common: Express,
  logger: Logger,
  observe?: RequestHandler,
): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("query parser", "simple");
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.use(withRequestId, safeHeaders);
  if (observe !== undefined) app.use(observe);
  for (const [path, router] of Object.entries(routes)) app.use(path, router);
  app.use(common);
  app.all(["/healthz", "/readyz", "/metrics"], methodNotAllowed(["GET", "HEAD"]));
  app.use(notFound, unreadableRequests, problemHandler(logger));
  return app;
}
