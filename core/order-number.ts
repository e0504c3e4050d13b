// Order and refund numbers: 28 decimal digits
//
//   VV SSSS YYMMDDhhmmss NNNNNNNN CC
//   |  |    |            |        `- two check digits, ISO 7064 MOD 97-10 (as in an IBAN)
//   |  |    |            `---------- sequence inside the stripe, modulo 10^8
//   |  |    `----------------------- UTC second of minting
//   |  `---------------------------- stripe that holds the order
//   `------------------------------- format version; never a leading zero
//
// The parser is a table by version, so that a later version can widen a field while old numbers keep routing.
import type { RefundId, StripeNo, TransactionId } from "./ids.ts";
import { stripeNo } from "./ids.ts";

export const NUMBER_LENGTH = 28;
/** Sequences are taken modulo this. */
export const SEQUENCE_MODULUS = 100_000_000;

export type NumberKind = "order" | "refund";

interface Format {
  readonly kind: NumberKind;
  readonly stripeDigits: number;
  readonly sequenceDigits: number;
}

const ORDER_VERSION = "10";
const REFUND_VERSION = "50";

const FORMATS: Readonly<Record<string, Format>> = {
  [ORDER_VERSION]: { kind: "order", stripeDigits: 4, sequenceDigits: 8 },
  [REFUND_VERSION]: { kind: "refund", stripeDigits: 4, sequenceDigits: 8 },
};

const VERSION_DIGITS = 2;
const TIME_DIGITS = 12;
const CHECK_DIGITS = 2;

export interface ParsedNumber {
  readonly kind: NumberKind;
  readonly version: number;
  readonly stripe: StripeNo;
  /** UTC second of minting, as milliseconds since the Unix epoch. */
  readonly mintedAtMs: number;
  readonly sequence: number;
}

export type NumberFault = "length" | "characters" | "check digits" | "version" | "stripe" | "time";

/** Why a string is not a number of ours. */
export class BadNumberError extends Error {
  readonly fault: NumberFault;

  constructor(fault: NumberFault) {
    super(`not a valid number: wrong ${fault}`);
    this.name = "BadNumberError";
    this.fault = fault;
  }
}

/** The value of a digit string modulo 97, in chunks that stay exact in a double. */
function mod97(digits: string): number {
  const chunk = 13;
  let rest = 0;
  for (let i = 0; i < digits.length; i += chunk) {
    const part = digits.slice(i, i + chunk);
    rest = (rest * 10 ** part.length + Number(part)) % 97;
  }
  return rest;
}

/**
 * The two check digits for `body` (ISO 7064 MOD 97-10: the whole number leaves remainder 1).
 * They catch every single wrong digit and every swap of two neighbours.
 */
export function checkDigits(body: string): string {
  return String(98 - mod97(`${body}00`)).padStart(CHECK_DIGITS, "0");
}

function two(n: number): string {
  return n < 10 ? `0${n}` : String(n);
}

let cachedSecond = -1;
let cachedStamp = "";

/** `YYMMDDhhmmss` in UTC; consecutive calls in one second reuse the text. */
function timeStamp(ms: number): string {
  const second = Math.floor(ms / 1000);
  if (second === cachedSecond) return cachedStamp;
  const t = new Date(second * 1000);
  const year = t.getUTCFullYear();
  if (year < 2000 || year > 2099) throw new RangeError(`year ${year} has no two-digit form in an order number`);
  cachedStamp =
    two(year - 2000) +
    two(t.getUTCMonth() + 1) +
    two(t.getUTCDate()) +
    two(t.getUTCHours()) +
    two(t.getUTCMinutes()) +
    two(t.getUTCSeconds());
  cachedSecond = second;
  return cachedStamp;
}

function mint(version: string, stripe: StripeNo, mintedAtMs: number, sequence: number): string {
  if (!Number.isSafeInteger(sequence) || sequence < 0) throw new RangeError(`bad sequence ${sequence}`);
  const body =
    version +
    String(stripe).padStart(4, "0") +
    timeStamp(mintedAtMs) +
    String(sequence % SEQUENCE_MODULUS).padStart(8, "0");
  return body + checkDigits(body);
}

/**
 * Mints an order number.
 * @param mintedAtMs wall-clock milliseconds since the Unix epoch, years 2000…2099 (truncated to the second)
 * @param sequence from a block leased from the stripe's database; taken modulo 10^8
 */
export function mintTransactionId(stripe: StripeNo, mintedAtMs: number, sequence: number): TransactionId {
  return mint(ORDER_VERSION, stripe, mintedAtMs, sequence) as TransactionId;
}

/** Mints a refund number; parameters as for {@link mintTransactionId}. */
export function mintRefundId(stripe: StripeNo, mintedAtMs: number, sequence: number): RefundId {
  return mint(REFUND_VERSION, stripe, mintedAtMs, sequence) as RefundId;
}

/** The time that was parsed last: numbers that come together were mostly minted in the same second. */
let lastTime = { digits: "", ms: 0 };

function parseTime(digits: string): number {
  if (digits === lastTime.digits) return lastTime.ms;
  const [yy, mo, dd, hh, mi, ss] = [0, 2, 4, 6, 8, 10].map((i) => Number(digits.slice(i, i + 2))) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  // Before the round trip, as an overflowing month could leave the century that a stamp can write.
  if (mo < 1 || mo > 12 || dd < 1 || dd > 31 || hh > 23 || mi > 59 || ss > 59) throw new BadNumberError("time");
  const ms = Date.UTC(2000 + yy, mo - 1, dd, hh, mi, ss);
  if (timeStamp(ms) !== digits) throw new BadNumberError("time");
  lastTime = { digits, ms };
  return ms;
}

/**
 * Parses a number of any known version; touches nothing but the string.
 * @throws BadNumberError naming the first fault found (length, characters, version, check digits, stripe, time)
 */
export function parseNumber(text: string): ParsedNumber {
  if (text.length !== NUMBER_LENGTH) throw new BadNumberError("length");
  if (!/^[0-9]+$/.test(text)) throw new BadNumberError("characters");
  const format = FORMATS[text.slice(0, VERSION_DIGITS)];
  if (format === undefined) throw new BadNumberError("version");
  if (mod97(text) !== 1 || checkDigits(text.slice(0, -CHECK_DIGITS)) !== text.slice(-CHECK_DIGITS)) {
    throw new BadNumberError("check digits");
  }
  const stripeEnd = VERSION_DIGITS + format.stripeDigits;
  const timeEnd = stripeEnd + TIME_DIGITS;
  const stripe = Number(text.slice(VERSION_DIGITS, stripeEnd));
  if (stripe < 1) throw new BadNumberError("stripe");
  return {
    kind: format.kind,
    version: Number(text.slice(0, VERSION_DIGITS)),
    stripe: stripeNo(stripe),
    mintedAtMs: parseTime(text.slice(stripeEnd, timeEnd)),
    sequence: Number(text.slice(timeEnd, timeEnd + format.sequenceDigits)),
  };
}

/** Parses an order number. @throws BadNumberError also (fault `version`) when it is a refund's */
export function parseTransactionId(text: string): { readonly id: TransactionId; readonly stripe: StripeNo } {
  const parsed = parseNumber(text);
  if (parsed.kind !== "order") throw new BadNumberError("version");
  return { id: text as TransactionId, stripe: parsed.stripe };
}

/** Parses a refund number. @throws BadNumberError also (fault `version`) when it is an order's */
export function parseRefundId(text: string): { readonly id: RefundId; readonly stripe: StripeNo } {
  const parsed = parseNumber(text);
  if (parsed.kind !== "refund") throw new BadNumberError("version");
  return { id: text as RefundId, stripe: parsed.stripe };
}
