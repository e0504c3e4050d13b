import type { RequestHandler } from "express";
import { monotonicMs } from "../../runtime/clock.ts";
import { instanceOf, requestIdFrom } from "../../runtime/send-problem.ts";
import type { ProxyContext } from "../context.ts";

/** Counts and times every request; logs those that failed or were slow. Never a body, a payer or a description. */
export function observeRequests(ctx: ProxyContext): RequestHandler {
  const { metrics, logger, limits } = ctx;
  return (req, res, next) => {
    const startMs = monotonicMs();
    res.once("close", () => {
      const ms = monotonicMs() - startMs;
      const route = typeof res.locals.route === "string" ? res.locals.route : "other";
      const status = res.writableFinished ? res.statusCode : 0;
      metrics.requests.inc({ route, status });
      metrics.durations.observe({ route }, ms / 1000);
      const worth = status >= 500 || status === 0 || ms >= limits.slowRequestMs;
      if (!worth && !logger.isLevelEnabled("debug")) return;
      const line = {
        request_id: requestIdFrom(res),
        route,
        path: instanceOf(req),
        ...numberFields(res.locals.number),
        status,
        code: res.locals.code,
        ms: Math.round(ms),
      };
      if (worth) logger.info(line, status === 0 ? "caller went away" : "request failed or slow");
      else logger.debug(line, "request");
    });
    next();
  };
}

/** The number in the path and the stripe that it names, when it has the form of one. */
function numberFields(number: unknown): { transaction_id?: string; stripe?: number } {
  if (typeof number !== "string" || !/^[0-9]{28}$/.test(number)) return {};
  return { transaction_id: number, stripe: Number(number.slice(2, 6)) };
}
