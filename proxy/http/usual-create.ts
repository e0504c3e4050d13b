// The body of a create as nearly all of them are, read and checked without the schema: compact JSON, known members, short
// text, no time of its own. It takes nothing that the schema would not take, and gives the same; whatever is not quite
// usual, faults among it, is left to the strict reader and the schema, which know every rule and name every fault.
import { CURRENCIES } from "../../core/currencies.ts";
import { type JsonValue, parseCompact } from "../../core/json.ts";
import { httpUrlSchema, MCHID, MERCHANT_NO, OPENID } from "../../core/schemas/common.ts";
import { ATTACH_MAX, type CreateOrder, DESCRIPTION_MAX } from "../../core/schemas/orders.ts";

type Members = Readonly<Record<string, unknown>>;
/** A create is JSON too. */
type Usual = JsonValue & CreateOrder;

const URLS_KEPT_MAX = 1_000;
/** That were found good: a merchant notifies at the same few all the time. */
const goodUrls = new Set<string>();

/** @param text of the body. @returns undefined: the schema is to be asked */
export function usualCreate(text: string): CreateOrder | undefined {
  return parseCompact(text, isCreate);
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCreate(order: JsonValue): order is Usual {
  if (!isMembers(order)) return false;
  for (const name in order) {
    const value = order[name];
    switch (name) {
      case "mchid":
      case "out_trade_no":
      case "amount":
      case "description":
        break;
      case "attach":
        if (!isShort(value, 0, ATTACH_MAX)) return false;
        break;
      case "notify_url":
        if (typeof value !== "string" || !isGoodUrl(value)) return false;
        break;
      case "payer":
        if (!isMembers(value) || !isOne(value, "openid", OPENID)) return false;
        break;
      default:
        return false;
    }
  }
  const { mchid, out_trade_no: outTradeNo, description, amount } = order;
  return (
    typeof mchid === "string" &&
    MCHID.test(mchid) &&
    typeof outTradeNo === "string" &&
    MERCHANT_NO.test(outTradeNo) &&
    isShort(description, 1, DESCRIPTION_MAX) &&
    isMembers(amount) &&
    isAmount(amount)
  );
}

/** No longer than that whatever its characters are. */
function isShort(value: unknown, min: number, max: number): boolean {
  return typeof value === "string" && value.length >= min && value.length <= max && value.isWellFormed();
}

function isOne(members: Members, only: string, pattern: RegExp): boolean {
  for (const name in members) if (name !== only) return false;
  const value = members[only];
  return typeof value === "string" && pattern.test(value);
}

function isAmount(amount: Members): boolean {
  for (const name in amount) if (name !== "total" && name !== "currency") return false;
  const { total, currency } = amount;
  return (
    Number.isSafeInteger(total) && (total as number) >= 1 && typeof currency === "string" && CURRENCIES.has(currency)
  );
}

function isGoodUrl(url: string): boolean {
  if (goodUrls.has(url)) return true;
  if (!httpUrlSchema.safeParse(url).success) return false;
  if (goodUrls.size >= URLS_KEPT_MAX) goodUrls.clear();
  goodUrls.add(url);
  return true;
}
