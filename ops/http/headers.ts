// What operators say in headers and paths.
import type { Request } from "express";
import { DomainError, paramError } from "../../core/errors.ts";
import { partitionNameSchema } from "../../core/routing-table.ts";

const ETAG = /^"(\d{1,15})"$/;
const ACTOR = /^[\x20-\x7e]{1,64}$/;

/** The stripe number in the path. @throws DomainError PARAM_ERROR */
export function stripeParam(req: Request): number {
  const text = String(req.params.stripe);
  if (!/^[1-9][0-9]{0,3}$/.test(text)) throw paramError("stripe", "a stripe number is 1…9999");
  return Number(text);
}

/** The partition in the path. @throws DomainError PARAM_ERROR */
export function partitionParam(req: Request): string {
  const parsed = partitionNameSchema.safeParse(req.params.partition);
  if (parsed.success) return parsed.data;
  throw paramError("partition", "is not a partition's name");
}

/** The version in `If-Match`. @throws DomainError PRECONDITION_REQUIRED, PARAM_ERROR */
export function expectedVersion(req: Request): number {
  const header = req.headers["if-match"];
  if (header === undefined) {
    throw new DomainError("PRECONDITION_REQUIRED", "send If-Match with the ETag of the stripe's GET");
  }
  const version = ETAG.exec(header)?.[1];
  if (version === undefined) throw paramError("If-Match", 'must be one ETag such as "7"');
  return Number(version);
}

/** Who asks, as told by the `Ops-Actor` header; the API is reachable from this machine only until it authenticates. */
export function actorOf(req: Request): string {
  const actor = req.headers["ops-actor"];
  if (actor === undefined) return "anonymous";
  if (typeof actor !== "string" || !ACTOR.test(actor)) throw paramError("Ops-Actor", "1…64 printable ASCII characters");
  return actor;
}
