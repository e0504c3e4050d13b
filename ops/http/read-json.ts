import type { Request } from "express";
import type { z } from "zod";
import { parseBody, readBody, requireJsonType } from "../../runtime/edge/body.ts";

const BODY_BYTES_MAX = 64 * 1024;

/**
 * Reads and validates a JSON body.
 * @throws DomainError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, INVALID_REQUEST, PARAM_ERROR with one entry per fault
 */
export async function readJson<S extends z.ZodType>(req: Request, schema: S): Promise<z.output<S>> {
  requireJsonType(req);
  return parseBody(schema, await readBody(req, BODY_BYTES_MAX));
}
