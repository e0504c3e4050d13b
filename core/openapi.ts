// The OpenAPI 3.1 document of the merchant endpoints, generated from the schemas that validate requests.
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import type { ErrorCode } from "./errors.ts";
import { bodyOf, PROBLEM_META, problemSchema, responsesOf, type Success } from "./openapi-parts.ts";
import { mchidSchema, merchantNoSchema } from "./schemas/common.ts";
import {
  closeOrderSchema,
  createOrderSchema,
  createRefundSchema,
  historySchema,
  orderSchema,
  payOrderSchema,
  readModeSchema,
  refundListSchema,
  refundResultSchema,
  refundSchema,
} from "./schemas/orders.ts";

const EXAMPLE_ORDER = "1000012611292130260000004219";
const EXAMPLE_REFUND = "5000012611292145100000000794";

const number = (description: string, example: string): z.ZodString =>
  z
    .string()
    .regex(/^[1-9][0-9]{27}$/)
    .meta({ description, example });

const CreateOrder = createOrderSchema.meta({
  id: "CreateOrder",
  example: {
    mchid: "1900000109",
    out_trade_no: "20261129-000042",
    description: "Green tea, 100 g",
    amount: { total: 1999, currency: "CNY" },
    time_expire: "2026-11-30T10:00:00+08:00",
  },
});
const PayOrder = payOrderSchema.meta({
  id: "PayOrder",
  example: { out_pay_no: "P-20261129-000042", amount: { total: 1999, currency: "CNY" }, channel: "card" },
});
const CreateRefund = createRefundSchema.meta({
  id: "CreateRefund",
  example: { out_refund_no: "R-1", amount: { refund: 500, total: 1999, currency: "CNY" }, reason: "came broken" },
});
const RefundResult = refundResultSchema.meta({ id: "RefundResult", example: { status: "SUCCESS" } });
const Order = orderSchema.meta({ id: "Order", description: "An order as it now is." });
const Refund = refundSchema.meta({ id: "Refund" });
const RefundList = refundListSchema.extend({ refunds: z.array(Refund) }).meta({ id: "RefundList" });
const History = historySchema.meta({ id: "History", description: "The journal of one order, oldest first." });
const Problem = problemSchema
  .extend({ order: Order.optional().meta({ description: "The order as it now is, where that decided." }) })
  .meta(PROBLEM_META);

const orderParams = z.object({
  transaction_id: number("Order number: 28 digits, the last two check digits.", EXAMPLE_ORDER),
});
const refundParams = z.object({ refund_id: number("Refund number.", EXAMPLE_REFUND) });

/** Errors that every endpoint may answer. */
const ALWAYS: readonly ErrorCode[] = [
  ...(["PARAM_ERROR", "INVALID_REQUEST", "NOT_ACCEPTABLE", "RATELIMIT_EXCEEDED", "SYSTEM_ERROR"] as const),
  ...(["STRIPE_UNAVAILABLE", "OVERLOADED", "TIMEOUT"] as const),
];
const WITH_BODY: readonly ErrorCode[] = [
  "REQUEST_TIMEOUT",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "STRIPE_READ_ONLY",
  "NOT_DURABLE",
];

function responses(success: Success, errors: readonly ErrorCode[]): RouteConfig["responses"] {
  return responsesOf(Problem, success, [...errors, ...ALWAYS]);
}

const orderPaths: readonly RouteConfig[] = [
  {
    method: "post",
    path: "/v1/orders",
    operationId: "createOrder",
    summary: "Create an order",
    description:
      "The merchant's number makes it idempotent for ever: the same content again answers the same order. When the " +
      "number's home stripe cannot take the order it is placed on another one within the same request.",
    request: bodyOf(CreateOrder),
    responses: responses(
      {
        201: { description: "Created, and durable on two servers.", schema: Order, headers: ["Jumped-From"] },
        200: { description: "The same order again.", schema: Order, headers: ["Idempotent-Replayed"] },
      },
      [...WITH_BODY, "OUT_TRADE_NO_USED", "NO_STRIPE_AVAILABLE"],
    ),
  },
  {
    method: "get",
    path: "/v1/orders/{transaction_id}",
    operationId: "getOrder",
    summary: "Query an order",
    request: { params: orderParams, query: z.object({ read: readModeSchema.optional() }) },
    responses: responses(
      { 200: { description: "The order.", schema: Order, headers: ["Read-Source", "Read-Lag-Ms"] } },
      ["ORDER_NOT_EXIST"],
    ),
  },
  {
    method: "get",
    path: "/v1/orders/out-trade-no/{out_trade_no}",
    operationId: "lookUpOrder",
    summary: "Look an order up by the merchant's number",
    description: "404 is certain: every stripe that may hold the order has said no. Otherwise 503.",
    request: { params: z.object({ out_trade_no: merchantNoSchema }), query: z.object({ mchid: mchidSchema }) },
    responses: responses({ 200: { description: "The order that stands for this number now.", schema: Order } }, [
      "ORDER_NOT_EXIST",
    ]),
  },
  {
    method: "post",
    path: "/v1/orders/{transaction_id}/pay",
    operationId: "payOrder",
    summary: "Record a payment",
    description: "Again with the same `out_pay_no` and content: 200, nothing changes.",
    request: { params: orderParams, ...bodyOf(PayOrder) },
    responses: responses({ 200: { description: "The paid order.", schema: Order, headers: ["Idempotent-Replayed"] } }, [
      ...WITH_BODY,
      "ORDER_NOT_EXIST",
      "AMOUNT_MISMATCH",
      "CURRENCY_MISMATCH",
      "OUT_PAY_NO_USED",
      "ORDER_PAID",
      "ORDER_CLOSED",
      "ORDER_EXPIRED",
    ]),
  },
  {
    method: "post",
    path: "/v1/orders/{transaction_id}/close",
    operationId: "closeOrder",
    summary: "Close an unpaid order",
    request: { params: orderParams, ...bodyOf(closeOrderSchema.meta({ id: "CloseOrder" }), false) },
    responses: responses(
      { 200: { description: "The closed order.", schema: Order, headers: ["Idempotent-Replayed"] } },
      [...WITH_BODY, "ORDER_NOT_EXIST", "ORDER_PAID", "ORDER_EXPIRED"],
    ),
  },
  {
    method: "get",
    path: "/v1/orders/{transaction_id}/history",
    operationId: "getOrderHistory",
    summary: "The journal of an order",
    request: { params: orderParams },
    responses: responses({ 200: { description: "Its events.", schema: History } }, ["ORDER_NOT_EXIST"]),
  },
];

const refundPaths: readonly RouteConfig[] = [
  {
    method: "post",
    path: "/v1/orders/{transaction_id}/refunds",
    operationId: "createRefund",
    summary: "Ask for a refund",
    description: "The amount is reserved at once. `out_refund_no` is unique within its order and makes it idempotent.",
    request: { params: orderParams, ...bodyOf(CreateRefund) },
    responses: responses(
      {
        201: { description: "Reserved.", schema: Refund },
        200: { description: "The same refund again.", schema: Refund, headers: ["Idempotent-Replayed"] },
      },
      [
        ...WITH_BODY,
        "ORDER_NOT_EXIST",
        "AMOUNT_MISMATCH",
        "CURRENCY_MISMATCH",
        "OUT_REFUND_NO_USED",
        "ORDER_NOT_PAID",
        "REFUND_AMOUNT_EXCEEDED",
        "REFUND_COUNT_EXCEEDED",
      ],
    ),
  },
  {
    method: "get",
    path: "/v1/orders/{transaction_id}/refunds",
    operationId: "listRefunds",
    summary: "The refunds of an order",
    request: { params: orderParams },
    responses: responses({ 200: { description: "All of them, at most 50.", schema: RefundList } }, ["ORDER_NOT_EXIST"]),
  },
  {
    method: "get",
    path: "/v1/refunds/{refund_id}",
    operationId: "getRefund",
    summary: "Query a refund",
    request: { params: refundParams },
    responses: responses({ 200: { description: "The refund.", schema: Refund } }, ["REFUND_NOT_EXIST"]),
  },
  {
    method: "post",
    path: "/v1/refunds/{refund_id}/result",
    operationId: "recordRefundResult",
    summary: "Record the channel's result of a refund",
    request: { params: refundParams, ...bodyOf(RefundResult) },
    responses: responses({ 200: { description: "The refund.", schema: Refund, headers: ["Idempotent-Replayed"] } }, [
      ...WITH_BODY,
      "REFUND_NOT_EXIST",
      "REFUND_STATE_CONFLICT",
    ]),
  },
];

export type OpenApiDocument = ReturnType<OpenApiGeneratorV31["generateDocument"]>;

/** The whole document. */
export function openApiDocument(): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  for (const path of orderPaths) registry.registerPath({ tags: ["Orders"], ...path });
  for (const path of refundPaths) registry.registerPath({ tags: ["Refunds"], ...path });
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: "3.1.0",
    info: {
      title: "Striped Orders",
      version: "1",
      description:
        "Orders, payments and refunds. Ids are strings. Money is an integer of minor units with an ISO 4217 code. Times " +
        "are RFC 3339, UTC out. A 2xx is durable on two servers; a 409 is certain; 500, 503 NOT_DURABLE and 504 mean " +
        "that the outcome is unknown, and that a retry with the same numbers is safe.",
    },
  });
}
