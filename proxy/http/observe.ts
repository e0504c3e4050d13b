import type { RequestHandler } from "express";
import { monotonicMs } from "../../runtime/clock.ts";
import { instanceOf, requestIdFrom } from "../../runtime/send-problem.ts";
import type { ProxyContext } from "../context.ts";

/** One request that was answered, or whose caller went away. */
export interface Answered {
  readonly startMs: number;
  /** The route's pattern; `other` for paths that are none of ours. */
  readonly route: string;
  /** 0: the caller went away. */
  readonly status: number;
  readonly code: unknown;
  readonly requestId: string;
  readonly path: string;
  /** The number in the path, if there is one. */
  readonly number: unknown;
}

/** Counts and times a request; logs it when it failed or was slow. Never a body, a payer or a description. */
export function observeAnswer({ metrics, logger, limits }: ProxyContext, answered: Answered): void {
  const { startMs, route, status, code, number } = answered;
  const ms = monotonicMs() - startMs;
  metrics.answered(route, status, ms / 1000);
  const worth = status >= 500 || status === 0 || ms >= limits.slowRequestMs;
  if (!worth && !logger.isLevelEnabled("debug")) return;
  const line = {
    request_id: answered.requestId,
    route,
    path: answered.path,
    ...numberFields(number),
    status,
    code,
    ms: Math.round(ms),
  };
  if (worth) logger.info(line, status === 0 ? "caller went away" : "request failed or slow");
  else logger.debug(line, "request");
}

export function observeRequests(ctx: ProxyContext): RequestHandler {
  return (req, res, next) => {
    const startMs = monotonicMs();
    res.once("close", () => {
      const { route, number, code } = res.locals;
      observeAnswer(ctx, {
        startMs,
        route: typeof route === "string" ? route : "other",
        status: res.writableFinished ? res.statusCode : 0,
        code,
        requestId: requestIdFrom(res),
        path: instanceOf(req),
        number,
      });
    });
    next();
  };
}

/** The number in the path and the stripe that it names, when it has the form of one. */
function numberFields(number: unknown): { transaction_id?: string; stripe?: number } {
  if (typeof number !== "string" || !/^[0-9]{28}$/.test(number)) return {};
  return { transaction_id: number, stripe: Number(number.slice(2, 6)) };
}
