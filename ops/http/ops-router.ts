// What every path of the ops API has in common: the same strictness as the merchants' API.
import { type Request, type Response, Router } from "express";
import { requireAcceptable } from "../../runtime/edge/accept.ts";
import { refuseOtherMethods, type RouteMethod } from "../../runtime/edge/methods.ts";
import { queryOf } from "../../runtime/edge/query.ts";

export interface OpsRoute {
  readonly method: RouteMethod;
  readonly path: string;
  /** Query parameters that the path takes; any other is refused. */
  readonly query?: readonly string[];
  readonly handle: (req: Request, res: Response, query: Readonly<Record<string, string>>) => Promise<void> | void;
}

export function opsRouter(routes: readonly OpsRoute[]): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const { method, path, query = [], handle } of routes) {
    router[method](path, async (req, res) => {
      requireAcceptable(req);
      await handle(req, res, queryOf(req.originalUrl, query));
    });
  }
  refuseOtherMethods(router, routes);
  return router;
}
