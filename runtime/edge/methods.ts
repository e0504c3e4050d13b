import type { RequestHandler, Router } from "express";
import { DomainError } from "../../core/errors.ts";

export type RouteMethod = "get" | "post" | "patch";

/** Answers 405 with the methods that the path does have. */
export function methodNotAllowed(methods: readonly string[]): RequestHandler {
  const allow = methods.join(", ");
  return (req, res) => {
    res.setHeader("Allow", allow);
    throw new DomainError("METHOD_NOT_ALLOWED", `${req.method} is not possible here; allowed: ${allow}`);
  };
}

/** After all routes of a router: any other method on their paths gets 405. */
export function refuseOtherMethods(
  router: Router,
  routes: readonly { readonly method: RouteMethod; readonly path: string }[],
): void {
  const byPath = new Map<string, string[]>();
  for (const { method, path } of routes) {
    const methods = byPath.get(path) ?? [];
    methods.push(...(method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
    byPath.set(path, methods);
  }
  for (const [path, methods] of byPath) router.all(path, methodNotAllowed(methods));
}
