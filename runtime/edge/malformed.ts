// Requests that are not HTTP never reach a handler: the parser refuses them. They get a problem document all the same.
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { randomUUID } from "node:crypto";
import { PROBLEM_MEDIA_TYPE, type Problem, problem } from "../../core/problem.ts";

const DETAILS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "the headers are too large",
  HPE_UNEXPECTED_CONTENT_LENGTH: "the length of the body is given twice",
  HPE_INVALID_CONTENT_LENGTH: "the length of the body is not a number",
  HPE_INVALID_TRANSFER_ENCODING: "the transfer encoding is not understood",
};

/** A socket as Node's HTTP server uses it: the answer that is being made on it, if any. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse<IncomingMessage> | null };

/** Answers requests that cannot be parsed with 400, those that never end with 408, and closes their connection. */
export function answerMalformedRequests(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: HttpSocket) => {
    // What was answered on this socket so far, or is about to be, belongs to an earlier request: only silence is safe.
    const current = socket._httpMessage;
    const earlierInWork = current !== undefined && current !== null && (current.headersSent || current.req.complete);
    const instance = current?.req.url?.split("?", 1)[0] ?? "/";
    if (!socket.writable || earlierInWork || error.code === "ECONNRESET") return void socket.destroy();
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
      const late = problem("REQUEST_TIMEOUT", "the request did not arrive in time", instance, randomUUID());
      return void socket.end(rawAnswer(late));
    }
    const detail = DETAILS[error.code ?? ""] ?? "the request is not well-formed HTTP";
    socket.end(rawAnswer(problem("INVALID_REQUEST", detail, instance, randomUUID())));
  });
}

function rawAnswer(document: Problem): string {
  const body = JSON.stringify(document);
  return [
    `HTTP/1.1 ${document.status} ${STATUS_CODES[document.status] ?? ""}`,
    `Content-Type: ${PROBLEM_MEDIA_TYPE}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Request-Id: ${document.request_id}`,
    "Cache-Control: no-store",
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}
