// A strict JSON reader (RFC 8259) for request bodies. JSON.parse silently keeps the last of two equal keys and turns
// `19.0`, `1e3` and `2^53+1` into ordinary numbers; money must not pass through that. This reader refuses duplicate
// keys, numbers that are not plain integers in the safe range, lone surrogates and U+0000, and says where.

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** Nesting deeper than this is refused. */
export const JSON_DEPTH_MAX = 16;

export interface JsonIssue {
  /** RFC 6901 JSON pointer into the body. */
  readonly pointer: string;
  readonly issue: string;
}

/** What is wrong and where: the first fault, and all of them where reading could go on. */
export class JsonError extends Error {
  readonly pointer: string;
  readonly issue: string;
  readonly issues: readonly JsonIssue[];
  /** What could be read, `null` in the place of a number that is not taken; undefined when the text is not JSON at all. */
  readonly partial: JsonValue | undefined;

  constructor(first: JsonIssue, issues: readonly JsonIssue[], partial?: JsonValue) {
    super(`${first.pointer === "" ? "body" : first.pointer}: ${first.issue}`);
    this.name = "JsonError";
    this.pointer = first.pointer;
    this.issue = first.issue;
    this.issues = issues;
    this.partial = partial;
  }
}

/** More faults than this in one text are not told. */
const ISSUES_MAX = 32;

const WHITESPACE = /[ \t\n\r]*/y;
const NUMBER_TOKEN = /-?[0-9+\-.eE]+/y;
const PLAIN_INTEGER = /^(0|-?[1-9][0-9]*)$/;
// oxlint-disable-next-line no-control-regex -- RFC 8259 names the control characters
const PLAIN_CHARS = /[^"\\\u0000-\u001f]*/y;
const HEX4 = /^[0-9a-fA-F]{4}$/;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class Reader {
  readonly #text: string;
  #at = 0;
  readonly #path: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  document(): JsonValue {
    const value = this.#value();
    this.#skip();
    if (this.#at < this.#text.length) this.#fail(`unexpected text after the value at offset ${this.#at}`);
    const [first] = this.#issues;
    if (first !== undefined) throw new JsonError(first, this.#issues, value);
    return value;
  }

  readonly #issues: JsonIssue[] = [];

  #issue(issue: string): JsonIssue {
    return { pointer: this.#path.map((p) => `/${p.replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""), issue };
  }

  /** The text cannot be read on. */
  #fail(issue: string): never {
    const fault = this.#issue(issue);
    throw new JsonError(fault, [fault]);
  }

  /** A value that is not taken; reading goes on behind it. */
  #refuse(issue: string): null {
    if (this.#issues.length < ISSUES_MAX) this.#issues.push(this.#issue(issue));
    return null;
  }

  #skip(): void {
    WHITESPACE.lastIndex = this.#at;
    WHITESPACE.test(this.#text);
    this.#at = WHITESPACE.lastIndex;
  }

  #value(): JsonValue {
    this.#skip();
    const c = this.#text[this.#at];
    if (c === "{") return this.#nested(() => this.#object());
    if (c === "[") return this.#nested(() => this.#array());
    if (c === '"') return this.#string();
    if (c === "t") return this.#word("true", true);
    if (c === "f") return this.#word("false", false);
    if (c === "n") return this.#word("null", null);
    if (c !== undefined && (c === "-" || (c >= "0" && c <= "9"))) return this.#number();
    if (c === undefined) this.#fail("the JSON text ends too early");
    return this.#fail(`not JSON at offset ${this.#at}`);
  }

  #depth = 0;

  #nested<T>(read: () => T): T {
    this.#depth += 1;
    if (this.#depth > JSON_DEPTH_MAX) this.#fail(`nested deeper than ${JSON_DEPTH_MAX} levels`);
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail(`not JSON at offset ${this.#at}`);
    this.#at += word.length;
    return value;
  }

  #number(): number | null {
    NUMBER_TOKEN.lastIndex = this.#at;
    const token = NUMBER_TOKEN.exec(this.#text)?.[0] ?? "";
    this.#at += token.length;
    if (!PLAIN_INTEGER.test(token)) return this.#refuse(`numbers must be plain integers, got ${token.slice(0, 32)}`);
    const value = Number(token);
    if (!Number.isSafeInteger(value)) return this.#refuse("the integer is outside ±(2^53−1)");
    return value;
  }

  #string(): string {
    this.#at += 1;
    let out = "";
    for (;;) {
      PLAIN_CHARS.lastIndex = this.#at;
      PLAIN_CHARS.test(this.#text);
      out += this.#text.slice(this.#at, PLAIN_CHARS.lastIndex);
      this.#at = PLAIN_CHARS.lastIndex;
      const c = this.#text[this.#at];
      if (c === '"') break;
      if (c === undefined) this.#fail("the JSON text ends too early");
      if (c !== "\\") this.#fail("a control character must be escaped");
      out += this.#escape();
    }
    this.#at += 1;
    if (!out.isWellFormed()) this.#refuse("lone surrogate");
    if (out.includes("\u0000")) this.#refuse("U+0000 is not allowed");
    return out;
  }

  #escape(): string {
    const c = this.#text[this.#at + 1] ?? "";
    if (c === "u") {
      const hex = this.#text.slice(this.#at + 2, this.#at + 6);
      if (!HEX4.test(hex)) this.#fail("bad \\u escape");
      this.#at += 6;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    const char = ESCAPES[c];
    if (char === undefined) this.#fail("bad escape");
    this.#at += 2;
    return char;
  }

  #array(): JsonValue[] {
    this.#at += 1;
    const out: JsonValue[] = [];
    this.#skip();
    if (this.#text[this.#at] === "]") {
      this.#at += 1;
      return out;
    }
    for (;;) {
      this.#path.push(String(out.length));
      out.push(this.#value());
      this.#path.pop();
      if (this.#separator("]")) return out;
    }
  }

  #object(): { [key: string]: JsonValue } {
    this.#at += 1;
    const out: { [key: string]: JsonValue } = Object.create(null) as { [key: string]: JsonValue };
    this.#skip();
    if (this.#text[this.#at] === "}") {
      this.#at += 1;
      return out;
    }
    for (;;) {
      this.#skip();
      if (this.#text[this.#at] !== '"') this.#fail(`a member name is expected at offset ${this.#at}`);
      const key = this.#string();
      this.#path.push(key);
      if (key in out) this.#refuse("the member appears twice");
      this.#skip();
      if (this.#text[this.#at] !== ":") this.#fail(`":" is expected at offset ${this.#at}`);
      this.#at += 1;
      out[key] = this.#value();
      this.#path.pop();
      if (this.#separator("}")) return out;
    }
  }

  /** Consumes "," (false) or the closing character (true). */
  #separator(close: string): boolean {
    this.#skip();
    const c = this.#text[this.#at];
    if (c !== "," && c !== close) {
      this.#fail(
        c === undefined ? "the JSON text ends too early" : `"," or "${close}" is expected at offset ${this.#at}`,
      );
    }
    this.#at += 1;
    return c === close;
  }
}

/**
 * What nearly every client sends: compact JSON without an escape, which the engine's own reader takes. Written out again
 * it is the same text only when no member came twice, and every number that is a safe integer had its plain form.
 * @param accepts must refuse numbers that are no safe integers, and text that is not well-formed
 * @returns undefined for anything else, faults among it
 */
export function parseCompact<T extends JsonValue>(
  text: string,
  accepts: (value: JsonValue) => value is T,
): T | undefined {
  if (text.includes("\\") || text.includes("__proto__")) return undefined;
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  return accepts(value) && JSON.stringify(value) === text ? value : undefined;
}

function isUsual(value: JsonValue): value is JsonValue {
  return isUsualAt(value, 0);
}

function isUsualAt(value: JsonValue, depth: number): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (depth >= JSON_DEPTH_MAX) return false;
  return Object.values(value).every((member: JsonValue) => isUsualAt(member, depth + 1));
}

/**
 * Reads one JSON document. No member of its objects is called `__proto__` by way of a prototype.
 * @throws JsonError with the JSON pointers of the faults
 */
export function parseStrictJson(text: string): JsonValue {
  return parseCompact(text, isUsual) ?? new Reader(text).document();
}
