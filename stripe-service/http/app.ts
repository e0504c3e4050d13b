import express, { type ErrorRequestHandler, type Express } from "express";
import { DomainError } from "../../core/errors.ts";
import { INTERNAL_BASE } from "../../core/schemas/wire.ts";
import { createApp } from "../../runtime/http-server.ts";
import { notFound, problemHandler, withRequestId } from "../../runtime/send-problem.ts";
import { adminRoutes } from "./admin-routes.ts";
import { bucketRoutes } from "./bucket-routes.ts";
import type { HttpContext } from "./context.ts";
import { faultRoutes } from "./fault-routes.ts";
import { firstHomeRoutes } from "./first-home-routes.ts";
import { jumpRoutes } from "./jump-routes.ts";
import { orderRoutes } from "./order-routes.ts";
import { probeRoutes } from "./probe-routes.ts";
import { refundRoutes } from "./refund-routes.ts";
import { requirePlace } from "./request.ts";

/** The HTTP edge of the service: /internal/v1, health and metrics. */
export function createStripeApp(context: HttpContext): Express {
  const app = createApp(context.metrics.registry, () => context.monitor.readiness);
  app.use(withRequestId);
  const internal = express.Router();
  internal.use((req, _res, next) => {
    requirePlace(req, context);
    next();
  });
  internal.use(express.raw({ type: () => true, limit: context.config.limits.bodyBytesMax, inflate: false }));
  internal.use(orderRoutes(context), refundRoutes(context), adminRoutes(context));
  internal.use(jumpRoutes(context), bucketRoutes(context), firstHomeRoutes(context), probeRoutes(context));
  if (context.faults.enabled) internal.use(faultRoutes(context));
  app.use(INTERNAL_BASE, internal);
  app.use(notFound);
  app.use(bodyFaults);
  app.use(problemHandler(context.logger));
  return app;
}

/** Faults of the body reader, told in our words. */
const bodyFaults: ErrorRequestHandler = (error: { type?: unknown } | undefined, _req, _res, next) => {
  switch (error?.type) {
    case "entity.too.large":
      return next(new DomainError("PAYLOAD_TOO_LARGE", "the body is too large"));
    case "encoding.unsupported":
      return next(new DomainError("UNSUPPORTED_MEDIA_TYPE", "the body must not be encoded"));
    case "request.aborted":
    case "request.size.invalid":
      return next(new DomainError("INVALID_REQUEST", "the body did not arrive whole"));
    default:
      return next(error);
  }
};
