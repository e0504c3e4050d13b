// The OpenAPI 3.1 document of the ops API, generated from the schemas that validate requests.
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from "@asteasolutions/zod-to-openapi";
import { z } from "zod";
import type { ErrorCode } from "./errors.ts";
import { bodyOf, PROBLEM_META, problemSchema, responsesOf, type Success } from "./openapi-parts.ts";
import type { OpenApiDocument } from "./openapi.ts";
import {
  auditListSchema,
  firstHomesSchema,
  merchantListSchema,
  merchantSchema,
  merchantViewSchema,
  partitionListSchema,
  partitionTrialSchema,
  rebalanceSchema,
  stripeListSchema,
  stripePatchSchema,
  stripeViewSchema,
  switchoverSchema,
  taskSchema,
  taskStartedSchema,
  trialSchema,
} from "./schemas/ops.ts";

const Problem = problemSchema.meta(PROBLEM_META);
const Stripe = stripeViewSchema.meta({
  id: "Stripe",
  description: "A row of the routing table and what is seen of it.",
});
const StripeList = stripeListSchema.extend({ stripes: z.array(Stripe) }).meta({ id: "StripeList" });
const StripePatch = stripePatchSchema.meta({ id: "StripePatch", example: { temperature: "warm" } });
const Switchover = switchoverSchema.meta({ id: "Switchover", example: { to: "s1b" } });
const Merchant = merchantViewSchema.meta({ id: "Merchant" });
const MerchantChange = merchantSchema.meta({
  id: "MerchantChange",
  example: { mchid: "1900000109", partition: "vip", create_policy: "strict" },
});
const MerchantList = merchantListSchema.extend({ merchants: z.array(Merchant) }).meta({ id: "MerchantList" });
const Trial = trialSchema.meta({ id: "Trial", example: { to: "prerelease", percent: 1.5 } });
const Task = taskSchema.meta({ id: "Task", description: "Long work, with the steps that were taken so far." });

const ALWAYS: readonly ErrorCode[] = ["PARAM_ERROR", "INVALID_REQUEST", "NOT_ACCEPTABLE", "SYSTEM_ERROR"];
const WITH_BODY: readonly ErrorCode[] = ["REQUEST_TIMEOUT", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"];

function responses(success: Success, errors: readonly ErrorCode[] = []): RouteConfig["responses"] {
  return responsesOf(Problem, success, [...errors, ...ALWAYS]);
}

function ok(description: string, schema: z.ZodType, headers?: string[]): Success {
  return { 200: { description, schema, ...(headers === undefined ? {} : { headers }) } };
}

const stripeParams = z.object({ stripe: z.int().min(1).max(9999) });
const partitionParams = z.object({ partition: z.string() });
const actor = z.object({
  "Ops-Actor": z.string().optional().meta({ description: "Who asks, for the audit; 1…64 printable characters." }),
});
const page = z.object({ limit: z.int().optional() });

const stripePaths: readonly RouteConfig[] = [
  {
    method: "get",
    path: "/ops/v1/stripes",
    operationId: "listStripes",
    summary: "All stripes",
    responses: responses(ok("By number.", StripeList)),
  },
  {
    method: "get",
    path: "/ops/v1/stripes/{stripe}",
    operationId: "getStripe",
    summary: "One stripe",
    request: { params: stripeParams },
    responses: responses(ok("The stripe.", Stripe, ["ETag"]), ["STRIPE_NOT_EXIST"]),
  },
  {
    method: "patch",
    path: "/ops/v1/stripes/{stripe}",
    operationId: "changeStripe",
    summary: "Change a stripe's place in the table",
    description:
      "`warm` and `cold` stripes get no new orders. Needs `If-Match` with the ETag of the stripe's GET; operators on " +
      "different stripes do not refuse each other.",
    request: {
      params: stripeParams,
      headers: actor.extend({ "If-Match": z.string().meta({ example: '"7"' }) }),
      ...bodyOf(StripePatch),
    },
    responses: responses(ok("As it now is.", Stripe, ["ETag"]), [
      ...WITH_BODY,
      "STRIPE_NOT_EXIST",
      "STATE_NOT_ALLOWED",
      "PRECONDITION_FAILED",
      "PRECONDITION_REQUIRED",
      "STRIPE_UNAVAILABLE",
    ]),
  },
  {
    method: "post",
    path: "/ops/v1/stripes/{stripe}/switchover",
    operationId: "startSwitchover",
    summary: "Let another server lead",
    request: { params: stripeParams, headers: actor, ...bodyOf(Switchover) },
    responses: responses(
      {
        202: {
          description: "Taken as a task.",
          schema: taskStartedSchema.meta({ id: "TaskStarted" }),
          headers: ["Location"],
        },
      },
      [...WITH_BODY, "STRIPE_NOT_EXIST", "STATE_NOT_ALLOWED"],
    ),
  },
  {
    method: "get",
    path: "/ops/v1/tasks/{id}",
    operationId: "getTask",
    summary: "A task",
    request: { params: z.object({ id: z.uuid() }) },
    responses: responses(ok("Its state and steps.", Task), ["NOT_FOUND"]),
  },
];

const partitionPaths: readonly RouteConfig[] = [
  {
    method: "get",
    path: "/ops/v1/partitions",
    operationId: "listPartitions",
    summary: "All partitions",
    responses: responses(ok("By name.", partitionListSchema.meta({ id: "PartitionList" }))),
  },
  {
    method: "post",
    path: "/ops/v1/partitions/{partition}",
    operationId: "giveFirstHomes",
    summary: "Give its buckets their first homes",
    description: "Only those that never had one. May be called again.",
    request: { params: partitionParams, headers: actor },
    responses: responses(ok("Done.", firstHomesSchema.meta({ id: "FirstHomes" })), [
      "STATE_NOT_ALLOWED",
      "STRIPE_UNAVAILABLE",
    ]),
  },
  {
    method: "post",
    path: "/ops/v1/partitions/{partition}/trial",
    operationId: "setTrial",
    summary: "Place a share of its merchants in another partition",
    request: { params: partitionParams, headers: actor, ...bodyOf(Trial) },
    responses: responses(ok("The trial.", partitionTrialSchema.meta({ id: "PartitionTrial" })), [
      ...WITH_BODY,
      "STATE_NOT_ALLOWED",
    ]),
  },
  {
    method: "post",
    path: "/ops/v1/partitions/{partition}/rebalance",
    operationId: "startRebalance",
    summary: "Move buckets until each stripe has its share by weight",
    request: { params: partitionParams, headers: actor },
    responses: responses({ 202: { description: "Under way.", schema: rebalanceSchema.meta({ id: "Rebalance" }) } }),
  },
  {
    method: "get",
    path: "/ops/v1/partitions/{partition}/rebalance",
    operationId: "getRebalance",
    summary: "How far a rebalance is",
    request: { params: partitionParams },
    responses: responses(ok("Its state.", rebalanceSchema.meta({ id: "Rebalance" })), ["NOT_FOUND"]),
  },
];

const otherPaths: readonly RouteConfig[] = [
  {
    method: "get",
    path: "/ops/v1/merchants",
    operationId: "listMerchants",
    summary: "Merchants that differ from the defaults",
    request: { query: page.extend({ mchid: z.string().optional(), after: z.string().optional() }) },
    responses: responses(ok("By number.", MerchantList)),
  },
  {
    method: "post",
    path: "/ops/v1/merchants",
    operationId: "setMerchant",
    summary: "Set a merchant's partition or create policy",
    request: { headers: actor, ...bodyOf(MerchantChange) },
    responses: responses(ok("As it now is.", Merchant), [...WITH_BODY, "STATE_NOT_ALLOWED"]),
  },
  {
    method: "get",
    path: "/ops/v1/audit",
    operationId: "listAudit",
    summary: "Who changed what, when, from what to what",
    request: { query: page.extend({ subject: z.string().optional(), before: z.int().optional() }) },
    responses: responses(ok("Newest first.", auditListSchema.meta({ id: "AuditList" }))),
  },
];

/** The whole document. */
export function opsOpenApiDocument(): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  for (const path of stripePaths) registry.registerPath({ tags: ["Stripes"], ...path });
  for (const path of partitionPaths) registry.registerPath({ tags: ["Partitions"], ...path });
  for (const path of otherPaths) registry.registerPath({ tags: ["Merchants and audit"], ...path });
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: "3.1.0",
    info: {
      title: "Striped Orders operations",
      version: "1",
      description: "What operators see and change. It has no authentication: it listens on loopback only.",
    },
  });
}
