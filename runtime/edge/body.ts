// Reading and checking what callers send. Everything is refused before any I/O, with a pointer to the fault.
import type { IncomingMessage } from "node:http";
import type { z } from "zod";
import { DomainError, type FieldIssue } from "../../core/errors.ts";
import { JsonError, type JsonValue, parseStrictJson } from "../../core/json.ts";

/** The client went away before its body was complete. Nothing is answered and nothing was done. */
export class BodyCutOff extends Error {
  override readonly name = "BodyCutOff";
}

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const ISSUES_MAX = 32;
const CONTENT_TYPE = "content-type";

/**
 * The body's bytes.
 * @throws DomainError PAYLOAD_TOO_LARGE as soon as the limit is passed; BodyCutOff
 */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = Number(req.headers["content-length"] ?? 0);
  if (announced > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      req.pause();
      reject(tooLarge(maxBytes));
    });
    req.once("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)));
    req.once("error", () => reject(new BodyCutOff()));
    req.once("close", () => {
      if (!req.complete) reject(new BodyCutOff());
    });
  });
}

function tooLarge(maxBytes: number): DomainError {
  return new DomainError("PAYLOAD_TOO_LARGE", `a body may have at most ${maxBytes} bytes`);
}

/** The media type of a request when there is exactly one; Node keeps the first of several and says nothing. */
export function contentTypeOf(req: IncomingMessage): string | undefined {
  const type = req.headers["content-type"];
  const { rawHeaders } = req;
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === CONTENT_TYPE.length && name.toLowerCase() === CONTENT_TYPE) times += 1;
  }
  return times === 1 ? type : undefined;
}

/** @throws DomainError UNSUPPORTED_MEDIA_TYPE */
export function requireJsonType(req: IncomingMessage): void {
  const encoding = req.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new DomainError("UNSUPPORTED_MEDIA_TYPE", "a body must not be compressed or otherwise encoded");
  }
  if (!JSON_MEDIA_TYPE.test(contentTypeOf(req) ?? "")) {
    throw new DomainError("UNSUPPORTED_MEDIA_TYPE", "one Content-Type is needed: application/json, in UTF-8");
  }
}

/**
 * The body as the schema says.
 * @throws DomainError INVALID_REQUEST (unreadable), PARAM_ERROR with every fault found, at most 32
 */
export function parseBody<S extends z.ZodType>(schema: S, bytes: Buffer): z.output<S> {
  return parseText(schema, textOf(bytes));
}

/** A body's text. @throws DomainError INVALID_REQUEST */
export function textOf(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw unreadable("the body is not valid UTF-8");
  }
}

/** As {@link parseBody}, of its text. */
export function parseText<S extends z.ZodType>(schema: S, text: string): z.output<S> {
  let value: JsonValue;
  try {
    value = parseStrictJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    if (error.partial === undefined && error.pointer === "") throw unreadable(error.issue);
    throw invalid([...error.issues, ...moreIssues(schema, error)]);
  }
  return checkValue(schema, value, "body");
}

/** What the schema says of the readable part; not of members whose fault is known already. */
function moreIssues(schema: z.ZodType, { partial, issues }: JsonError): FieldIssue[] {
  if (partial === undefined) return [];
  const known = new Set(issues.map(({ pointer }) => pointer));
  const found = schema.safeParse(partial).error?.issues ?? [];
  return found.flatMap((issue) => fieldIssues(issue, "body")).filter(({ pointer }) => !known.has(pointer));
}

function unreadable(issue: string): DomainError {
  return new DomainError("INVALID_REQUEST", issue, { errors: [{ pointer: "", issue }] });
}

function invalid(all: readonly FieldIssue[]): DomainError {
  const errors = all.slice(0, ISSUES_MAX);
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const { pointer, issue } = errors[0] as FieldIssue;
  return new DomainError("PARAM_ERROR", `${pointer || "the body"}: ${issue}${more}`, { errors });
}

/** The value as the schema says. @throws DomainError PARAM_ERROR with every fault found, at most 32 */
export function checkValue<S extends z.ZodType>(schema: S, value: unknown, pointers: "body" | "names"): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.flatMap((issue) => fieldIssues(issue, pointers)));
}

function fieldIssues(issue: z.core.$ZodIssue, pointers: "body" | "names"): FieldIssue[] {
  const at = (path: readonly PropertyKey[]): string =>
    pointers === "names"
      ? path.map(String).join(".")
      : path.map((p) => `/${String(p).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ pointer: at([...issue.path, key]), issue: "unknown member" }));
  }
  return [{ pointer: at(issue.path), issue: wording(issue) }];
}

function wording(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") {
    if (issue.message.endsWith("received undefined")) return "is required";
    if (issue.expected === "int") return "must be an integer in the safe range";
    return `must be ${article(issue.expected)}`;
  }
  if (issue.code === "invalid_format" && issue.message.startsWith("Invalid")) return "has a wrong form";
  if (issue.code === "too_small") return `must be at least ${issue.minimum}`;
  if (issue.code === "too_big") return `must be at most ${issue.maximum}`;
  if (issue.code === "invalid_value") return `must be one of ${issue.values.map(String).join(", ")}`;
  return issue.message;
}

function article(type: string): string {
  return type === "int" || /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
