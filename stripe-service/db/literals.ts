// Literals for statements that are put together for many rows at once, where placeholders would cost more than the rest
// of the statement. Everything that goes into such a statement comes through here.

/** Printable ASCII without quote and backslash: the same in every SQL mode. */
const PLAIN = /^[ -&(-[\]-~]*$/;

/**
 * Text as a literal of ASCII characters alone; anything that is not plain goes as hexadecimal. While a statement runs that
 * holds a character beyond the basic plane, or bytes, every SELECT from information_schema.processlist fails (error
 * 3854), and those who fence a server read that.
 */
export function textLiteral(value: string | null | undefined): string {
  if (value === null || value === undefined) return "NULL";
  return PLAIN.test(value) ? `'${value}'` : `_utf8mb4 X'${Buffer.from(value, "utf8").toString("hex")}'`;
}

/** Text that is ASCII by its form (order and refund numbers), in the character set of its column, so that keys serve. */
export function asciiLiteral(value: string): string {
  if (!PLAIN.test(value)) throw new RangeError("not plain ASCII");
  return `_ascii'${value}'`;
}

/** Bytes given as hexadecimal digits. */
export function bytesLiteral(hex: string): string {
  if (!/^(?:[0-9a-f]{2})+$/.test(hex)) throw new RangeError("not hexadecimal");
  return `X'${hex}'`;
}

/** A safe integer. */
export function integerLiteral(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError("not a safe integer");
  return String(value);
}

/** `(a, b), (c, d)` */
export function rowList(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `(${row.join(", ")})`).join(", ");
}
