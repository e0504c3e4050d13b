// The merchant endpoints.
import { type Request, Router } from "express";
import { z } from "zod";
import { DomainError } from "../../core/errors.ts";
import { BadNumberError, parseRefundId, parseTransactionId } from "../../core/order-number.ts";
import { mchidSchema, merchantNoSchema } from "../../core/schemas/common.ts";
import {
  closeOrderSchema,
  createOrderSchema,
  createRefundSchema,
  payOrderSchema,
  readModeSchema,
  refundResultSchema,
} from "../../core/schemas/orders.ts";
import { INTERNAL_BASE } from "../../core/schemas/wire.ts";
import { Deadline } from "../../runtime/clock.ts";
import { checkValue, parseBody, readBody, requireJsonType } from "../../runtime/edge/body.ts";
import { refuseOtherMethods } from "../../runtime/edge/methods.ts";
import { queryOf } from "../../runtime/edge/query.ts";
import type { ProxyContext, RequestContext } from "../context.ts";
import { callStripe } from "../orders/call-stripe.ts";
import { withChainEnd } from "../orders/chain.ts";
import { createOrder } from "../orders/create-order.ts";
import { lookUpOrder } from "../orders/look-up-order.ts";
import { type MerchantAnswer, passedOn } from "../upstream/answers.ts";
import { endpoint, type Intake, type Operation } from "./handler.ts";

interface Route {
  readonly method: "get" | "post";
  readonly path: string;
  readonly operation: Operation;
}

/** @returns a router for everything under `/v1` */
export function merchantRoutes(ctx: ProxyContext, intake: Intake): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const routes = [...orderRoutes(ctx), ...refundRoutes(ctx)];
  for (const { method, path, operation } of routes) {
    router[method](path, endpoint(ctx, intake, `${method.toUpperCase()} /v1${path}`, operation));
  }
  refuseOtherMethods(router, routes);
  return router;
}

function orderRoutes(ctx: ProxyContext): Route[] {
  const lookUpSchema = z.object({ mchid: mchidSchema, out_trade_no: merchantNoSchema });
  const querySchema = z.object({ read: readModeSchema.optional() });
  return [
    {
      method: "post",
      path: "/orders",
      operation: async (rq, req) => {
        queryOf(req.originalUrl, []);
        const order = await readContent(ctx, req, createOrderSchema);
        return createOrder(ctx, afresh(ctx, rq), order);
      },
    },
    {
      method: "get",
      path: "/orders/out-trade-no/:out_trade_no",
      operation: async (rq, req) => {
        const query = queryOf(req.originalUrl, ["mchid"]);
        const key = checkValue(lookUpSchema, { ...query, out_trade_no: req.params.out_trade_no }, "names");
        return lookUpOrder(ctx, rq, { mchid: key.mchid, outTradeNo: key.out_trade_no });
      },
    },
    {
      method: "get",
      path: "/orders/:transaction_id",
      operation: async (rq, req) => {
        const { id, stripe } = orderNumber(req);
        const query = checkValue(querySchema, queryOf(req.originalUrl, ["read"]), "names");
        const suffix = query.read === undefined ? "" : `?read=${query.read}`;
        const answer = await callStripe(ctx, rq, stripe, get(`/orders/${id}${suffix}`), "read");
        return withChainEnd(ctx, rq, answer);
      },
    },
    write(ctx, "/orders/:transaction_id/pay", orderNumber, payOrderSchema),
    write(ctx, "/orders/:transaction_id/close", orderNumber, closeOrderSchema, true),
    write(ctx, "/orders/:transaction_id/refunds", orderNumber, createRefundSchema),
    read(ctx, "/orders/:transaction_id/refunds", orderNumber),
    read(ctx, "/orders/:transaction_id/history", orderNumber),
  ];
}

function refundRoutes(ctx: ProxyContext): Route[] {
  return [
    read(ctx, "/refunds/:refund_id", refundNumber),
    write(ctx, "/refunds/:refund_id/result", refundNumber, refundResultSchema),
  ];
}

type NumberOf = (req: Request) => { readonly id: string; readonly stripe: number };

/** A GET that goes to the stripe in the number. */
function read(ctx: ProxyContext, path: string, numberOf: NumberOf): Route {
  const operation = async (rq: RequestContext, req: Request): Promise<MerchantAnswer> => {
    const { id, stripe } = numberOf(req);
    queryOf(req.originalUrl, []);
    return passedOn(await toStripe(ctx, numberOf, rq, stripe, get(wirePath(path, id)), "read"));
  };
  return { method: "get", path, operation };
}

/** A POST that goes to the stripe in the number; a replay of it is harmless. */
function write(ctx: ProxyContext, path: string, numberOf: NumberOf, schema: z.ZodType, mayBeEmpty = false): Route {
  const operation = async (rq: RequestContext, req: Request): Promise<MerchantAnswer> => {
    const { id, stripe } = numberOf(req);
    queryOf(req.originalUrl, []);
    const body = JSON.stringify(await readContent(ctx, req, schema, mayBeEmpty));
    const request = { method: "POST", path: INTERNAL_BASE + wirePath(path, id), body } as const;
    return passedOn(await toStripe(ctx, numberOf, afresh(ctx, rq), stripe, request, "write"));
  };
  return { method: "post", path, operation };
}

async function toStripe(
  ctx: ProxyContext,
  numberOf: NumberOf,
  ...[rq, stripe, request, kind]: Tail<Parameters<typeof callStripe>>
): ReturnType<typeof callStripe> {
  try {
    return await callStripe(ctx, rq, stripe, request, kind);
  } catch (error) {
    const missing = error instanceof DomainError && error.code === "ORDER_NOT_EXIST" && numberOf === refundNumber;
    throw missing ? new DomainError("REFUND_NOT_EXIST", error.message) : error;
  }
}

type Tail<T extends unknown[]> = T extends [unknown, ...infer R] ? R : never;

function wirePath(path: string, id: string): string {
  return path.replace(/:\w+/, id);
}

function get(path: string): { readonly method: "GET"; readonly path: string } {
  return { method: "GET", path: INTERNAL_BASE + path };
}

/** The time that a slow body took is the caller's, not the cluster's. */
function afresh(ctx: ProxyContext, rq: RequestContext): RequestContext {
  return { ...rq, deadline: new Deadline(ctx.limits.requestDeadlineMs) };
}

const orderNumber: NumberOf = (req) => checkedNumber("transaction_id", req, parseTransactionId);
const refundNumber: NumberOf = (req) => checkedNumber("refund_id", req, parseRefundId);

function checkedNumber<T>(name: string, req: Request, parse: (text: string) => T): T {
  try {
    return parse(String(req.params[name]));
  } catch (error) {
    if (!(error instanceof BadNumberError)) throw error;
    const issue = `not a valid number: wrong ${error.fault}`;
    throw new DomainError("PARAM_ERROR", `${name}: ${issue}`, { errors: [{ pointer: name, issue }] });
  }
}

async function readContent<S extends z.ZodType>(
  ctx: ProxyContext,
  req: Request,
  schema: S,
  mayBeEmpty = false,
): Promise<z.output<S>> {
  const empty = req.headers["transfer-encoding"] === undefined && Number(req.headers["content-length"] ?? 0) === 0;
  if (!(mayBeEmpty && empty)) requireJsonType(req);
  const bytes = await readBody(req, ctx.limits.bodyMaxBytes);
  return mayBeEmpty && bytes.length === 0 ? checkValue(schema, {}, "body") : parseBody(schema, bytes);
}
