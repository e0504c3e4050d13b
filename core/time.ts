// Times of the contract: RFC 3339 with an offset in, UTC with three decimals out; finer fractions are cut off, never
// rounded. In the databases the same instant is a DATETIME(3) in UTC, read and written as text.

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/** An instant as `YYYY-MM-DDTHH:MM:SS.mmmZ`. */
export type Instant = string;

/**
 * Normalises an RFC 3339 date-time.
 * @returns the instant in UTC, cut to milliseconds; null when the text is not RFC 3339, has no offset, names a day,
 * time or offset that does not exist (leap seconds included), or lies outside the years 1…9998
 */
export function parseInstant(text: string): Instant | null {
  const m = RFC3339.exec(text);
  if (m === null) return null;
  const [, y, mo, d, h, mi, s, fraction = "", offset = "Z"] = m;
  const base = `${y}-${mo}-${d}T${h}:${mi}:${s}.${fraction.padEnd(3, "0").slice(0, 3)}Z`;
  const local = Date.parse(base);
  if (Number.isNaN(local) || new Date(local).toISOString() !== base) return null;
  const offsetMs = parseOffsetMs(offset);
  if (offsetMs === null) return null;
  const utc = new Date(local - offsetMs);
  const year = utc.getUTCFullYear();
  return year < 1 || year > 9998 ? null : utc.toISOString();
}

function parseOffsetMs(offset: string): number | null {
  if (offset === "Z" || offset === "z") return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(4, 6));
  if (hours > 23 || minutes > 59) return null;
  return (offset[0] === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

/** `2026-11-29T21:30:26.123Z` → `2026-11-29 21:30:26.123` */
export function toDbTime(instant: Instant): string {
  return `${instant.slice(0, 10)} ${instant.slice(11, 23)}`;
}

/**
 * `2026-11-29 21:30:26.123` → `2026-11-29T21:30:26.123Z`
 * @throws RangeError for text of another length (prepared statements drop a zero fraction: read times as text)
 */
export function fromDbTime(dbTime: string): Instant {
  if (dbTime.length !== 23) throw new RangeError(`not a DATETIME(3): ${dbTime}`);
  return `${dbTime.slice(0, 10)}T${dbTime.slice(11, 23)}Z`;
}
