// The body of a create. One that a proxy put together from what it had validated is looked at only as far as a slip of
// code could matter to the database; anything that seems odd, and every body of others, goes through the whole schema.
import { MCHID, MERCHANT_NO } from "../../core/schemas/common.ts";
import type { CreateOrder } from "../../core/schemas/orders.ts";
import { type WireCreate, wireCreateSchema } from "../../core/schemas/wire.ts";
import { bodyOf, type Incoming } from "./request.ts";

const HASH = /^[0-9a-f]{64}$/;
const NUMBER = /^[0-9]{28}$/;
const CURRENCY = /^[A-Z]{3}$/;

type Loose = Readonly<Record<string, unknown>>;

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isOrder(order: Loose): boolean {
  const { amount, payer } = order as Partial<Record<keyof CreateOrder, Loose>>;
  return (
    matches(order.mchid, MCHID) &&
    matches(order.out_trade_no, MERCHANT_NO) &&
    typeof order.description === "string" &&
    Number.isSafeInteger(amount?.total) &&
    matches(amount?.currency, CURRENCY) &&
    isTextOrAbsent(order.time_expire) &&
    isTextOrAbsent(order.notify_url) &&
    isTextOrAbsent(order.attach) &&
    (payer === undefined || typeof payer.openid === "string")
  );
}

function isWireCreate(value: unknown): value is WireCreate {
  const wire = value as Loose | null;
  if (typeof wire !== "object" || wire === null || typeof wire.order !== "object" || wire.order === null) return false;
  return (
    matches(wire.transaction_id, NUMBER) &&
    Number.isSafeInteger(wire.bucket) &&
    (wire.as === "HOME" || wire.as === "JUMP") &&
    Array.isArray(wire.failed) &&
    wire.failed.every((number) => matches(number, NUMBER)) &&
    matches(wire.request_hash, HASH) &&
    isOrder(wire.order as Loose)
  );
}

/** @throws DomainError INVALID_REQUEST, PARAM_ERROR */
export function wireCreateOf(req: Incoming): WireCreate {
  if (req.fromProxy === true && Buffer.isBuffer(req.body)) {
    const value: unknown = parsedOrUndefined(req.body);
    if (isWireCreate(value)) return value;
  }
  return bodyOf(req, wireCreateSchema);
}

function parsedOrUndefined(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
