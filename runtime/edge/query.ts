import { DomainError, type FieldIssue } from "../../core/errors.ts";

/**
 * Query parameters by name, each at most once.
 * @param known the names that the path takes
 * @throws DomainError PARAM_ERROR naming every unknown or repeated parameter
 */
export function queryOf(url: string, known: readonly string[]): Record<string, string> {
  const start = url.indexOf("?");
  if (start < 0) return {};
  const values: Record<string, string> = {};
  const errors: FieldIssue[] = [];
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (!known.includes(name)) errors.push({ pointer: name, issue: "unknown parameter" });
    else if (Object.hasOwn(values, name)) errors.push({ pointer: name, issue: "the parameter appears twice" });
    else values[name] = value;
  }
  const [first] = errors;
  if (first === undefined) return values;
  throw new DomainError("PARAM_ERROR", `${first.pointer}: ${first.issue}`, { errors });
}
