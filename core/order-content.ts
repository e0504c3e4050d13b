// What makes two creates of one merchant number "the same order".
import { hash } from "node:crypto";
import type { CreateOrder } from "./schemas/orders.ts";

/** The members that count, in the order in which a conflict names them. */
export const CONTENT_FIELDS = [
  "description",
  "amount.total",
  "amount.currency",
  "time_expire",
  "notify_url",
  "attach",
  "payer",
] as const;
export type ContentField = (typeof CONTENT_FIELDS)[number];

/** One value per content field; null = not given. */
export type OrderContent = Readonly<Record<ContentField, string | null>>;

/** The content of a create, normalised: `time_expire` is an instant, so the same instant in two zones is equal. */
export function contentOf(order: CreateOrder): OrderContent {
  return {
    description: order.description,
    "amount.total": String(order.amount.total),
    "amount.currency": order.amount.currency,
    time_expire: order.time_expire ?? null,
    notify_url: order.notify_url ?? null,
    attach: order.attach ?? null,
    payer: order.payer?.openid ?? null,
  };
}

/** SHA-256 (hex) of the content. Member order, white space and zone of the original text do not matter. */
export function requestHash(order: CreateOrder): string {
  const content = contentOf(order);
  return hash("sha256", JSON.stringify(CONTENT_FIELDS.map((field) => content[field])), "hex");
}

/** Names of the members that differ. */
export function differingFields(a: OrderContent, b: OrderContent): ContentField[] {
  return CONTENT_FIELDS.filter((field) => a[field] !== b[field]);
}
