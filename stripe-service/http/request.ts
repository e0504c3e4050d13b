// Reading requests of the cluster: headers, ids, bodies. Every fault is a DomainError.
import type { z } from "zod";
import { DomainError, paramError } from "../../core/errors.ts";
import { parseStrictJson } from "../../core/json.ts";
import { BadNumberError, parseRefundId, parseTransactionId } from "../../core/order-number.ts";
import { partitionNameSchema } from "../../core/routing-table.ts";
import { WIRE_HEADERS } from "../../core/schemas/wire.ts";
import { Deadline } from "../../runtime/clock.ts";
import { misdirected } from "../orders/tx.ts";
import type { HttpContext } from "./context.ts";

/** A request, whichever way it came. An Express request is one. */
export interface Incoming {
  readonly path: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** A Buffer, or nothing. */
  readonly body?: unknown;
  /** A proxy has put the body together from what it had validated. */
  readonly fromProxy?: boolean;
  get(name: string): string | undefined;
}

/**
 * How long this request may take here: the caller's deadline less the margin, at most our own.
 * @throws DomainError OVERLOADED when it has passed: whoever asked has gone, and nothing was written
 */
export function deadlineOf(req: Incoming, { config }: HttpContext): Deadline {
  const { dbDeadlineMs, answerMarginMs } = config.limits;
  const header = req.get(WIRE_HEADERS.deadlineMs);
  if (header === undefined) return new Deadline(dbDeadlineMs);
  const asked = Number(header);
  if (!Number.isFinite(asked)) throw paramError(WIRE_HEADERS.deadlineMs, "must be milliseconds");
  const budgetMs = Math.min(dbDeadlineMs, asked - answerMarginMs);
  if (budgetMs <= 0)
    throw new DomainError("OVERLOADED", "the deadline has passed; nothing was written", { retryAfterS: 1 });
  return new Deadline(budgetMs);
}

/** @throws DomainError MISDIRECTED when the caller means another place; PARAM_ERROR when it names none */
export function requirePlace(req: Incoming, { config, monitor }: HttpContext): void {
  const header = req.get(WIRE_HEADERS.place);
  if (header === undefined || !/^[0-9]{1,9}$/.test(header)) throw paramError(WIRE_HEADERS.place, "must name the place");
  if (Number(header) !== config.place) {
    throw misdirected(`this is place ${config.place}`, monitor.routingVersion);
  }
}

/** The partition that the caller takes this stripe to be in, when it says one. @throws DomainError PARAM_ERROR */
export function partitionOf(req: Incoming): string | undefined {
  const header = req.get(WIRE_HEADERS.partition);
  if (header === undefined || partitionNameSchema.safeParse(header).success) return header;
  throw paramError(WIRE_HEADERS.partition, "is not a partition's name");
}

function requireStripe(stripe: number, { config, monitor }: HttpContext): void {
  if (stripe !== config.stripe) throw misdirected(`this is stripe ${config.stripe}`, monitor.routingVersion);
}

function parsed<T>(parse: (text: string) => T, pointer: string, text: string): T {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof BadNumberError) throw paramError(pointer, error.message);
    throw error;
  }
}

/** @throws DomainError PARAM_ERROR for a bad number, MISDIRECTED for another stripe's */
export function transactionIdOf(text: unknown, context: HttpContext): string {
  const { id, stripe } = parsed(parseTransactionId, "transaction_id", String(text));
  requireStripe(stripe, context);
  return id;
}

/** As {@link transactionIdOf}, for refund numbers. */
export function refundIdOf(text: unknown, context: HttpContext): string {
  const { id, stripe } = parsed(parseRefundId, "refund_id", String(text));
  requireStripe(stripe, context);
  return id;
}

/** Validates against a schema. @throws DomainError PARAM_ERROR with a pointer for every fault */
export function validated<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }) => ({
    pointer: path.map((part) => `/${String(part)}`).join(""),
    issue: message,
  }));
  const [first] = errors;
  throw new DomainError("PARAM_ERROR", `${first?.pointer ?? ""}: ${first?.issue ?? "wrong"}`, { errors });
}

/** The JSON body, validated; an absent one is an empty object. @throws DomainError INVALID_REQUEST, PARAM_ERROR */
export function bodyOf<S extends z.ZodType>(req: Incoming, schema: S): z.infer<S> {
  const raw: unknown = req.body;
  const text = Buffer.isBuffer(raw) ? raw.toString("utf8") : "";
  if (text === "") return validated(schema, {});
  return validated(schema, parseJson(text));
}

function parseJson(text: string): unknown {
  try {
    return parseStrictJson(text);
  } catch (error) {
    throw new DomainError("INVALID_REQUEST", error instanceof Error ? error.message : "not JSON");
  }
}
