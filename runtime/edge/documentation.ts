import { Router } from "express";
import type { OpenApiDocument } from "../../core/openapi.ts";
import { docsPage } from "./docs-page.ts";
import { methodNotAllowed } from "./methods.ts";

const DOCS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/** `GET /openapi.json` and the page made of it, `GET /docs`; both are made once. */
export function documentation(document: OpenApiDocument): Router {
  const json = JSON.stringify(document);
  const page = docsPage(document);
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/openapi.json", (_req, res) => {
    res.type("application/json").send(json);
  });
  router.get("/docs", (_req, res) => {
    res.setHeader("Content-Security-Policy", DOCS_POLICY);
    res.type("text/html").send(page);
  });
  router.all(["/openapi.json", "/docs"], methodNotAllowed(["GET", "HEAD"]));
  return router;
}
