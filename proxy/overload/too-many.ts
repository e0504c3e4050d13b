import { DomainError } from "../../core/errors.ts";

/** One merchant holds more than its share of something that others need too; nothing was done. */
export function tooManyInFlight(): DomainError {
  return new DomainError("RATELIMIT_EXCEEDED", "this merchant has too many requests in flight", { retryAfterS: 1 });
}
