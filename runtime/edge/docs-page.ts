// A readable page made from the OpenAPI document: one self-contained HTML text, no script, nothing from elsewhere.
import { ERROR_CATALOGUE } from "../../core/errors.ts";
import type { OpenApiDocument } from "../../core/openapi.ts";
import { DOCS_STYLE } from "./docs-style.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly (string | null)[];
  readonly allOf?: readonly Schema[];
  readonly [constraint: string]: unknown;
}

interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: Schema }[];
  readonly requestBody?: { readonly content: Record<string, { schema: Schema }> };
  readonly responses: Record<
    string,
    { description: string; headers?: object; content?: Record<string, { schema: Schema }> }
  >;
}

type Schemas = ReadonlyMap<string, Schema>;

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly anchor: string;
  readonly operation: Operation;
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Escaped text with `code` between back quotes. */
function prose(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** The page's HTML. */
export function docsPage(document: OpenApiDocument): string {
  const endpoints = endpointsOf(document);
  const schemas = Object.entries((document.components?.schemas ?? {}) as Record<string, Schema>);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(document.info.title)} API</title><style>${DOCS_STYLE}</style></head><body>
<nav><h1>${escape(document.info.title)}</h1>${navigation(endpoints, schemas)}</nav>
<main><header><h1>${escape(document.info.title)} <small>API v${escape(document.info.version)}</small></h1>
<p>${prose(document.info.description ?? "")}</p><p><a href="/openapi.json">openapi.json</a></p></header>
${endpoints.map((endpoint) => endpointSection(endpoint, new Map(schemas))).join("\n")}
<section id="errors"><h2>Error codes</h2>${errorTable()}</section>
<section id="schemas"><h2>Schemas</h2>${schemas.map(([name, schema]) => schemaSection(name, schema)).join("\n")}</section>
</main></body></html>`;
}

function endpointsOf(document: OpenApiDocument): Endpoint[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      anchor: `${method}-${path.replace(/[^a-z]+/g, "-")}`,
      operation,
    })),
  );
}

function navigation(endpoints: readonly Endpoint[], schemas: readonly [string, Schema][]): string {
  const groups = Map.groupBy(endpoints, ({ operation }) => operation.tags?.[0] ?? "Other");
  const lists = [...groups].map(([tag, members]) => {
    const items = members.map(
      ({ anchor, method, operation }) =>
        `<li><a href="#${anchor}"><b class="${method}">${method}</b> ${escape(operation.summary ?? "")}</a></li>`,
    );
    return `<h3>${escape(tag)}</h3><ul>${items.join("")}</ul>`;
  });
  const names = schemas.map(([name]) => `<li><a href="#schema-${name}">${name}</a></li>`);
  return `${lists.join("")}<h3>Reference</h3><ul><li><a href="#errors">Error codes</a></li>${names.join("")}</ul>`;
}

function endpointSection({ method, path, anchor, operation }: Endpoint, schemas: Schemas): string {
  const { summary = "", description, parameters = [], requestBody, responses } = operation;
  const parts = [
    `<h2>${escape(summary)}</h2><p class="path"><b class="${method}">${method}</b> <code>${escape(path)}</code></p>`,
    description === undefined ? "" : `<p>${prose(description)}</p>`,
  ];
  if (parameters.length > 0) {
    const rows = parameters.map(({ name, in: where, required, schema }) => memberRow(name, schema, required, where));
    parts.push(`<h4>Parameters</h4><table>${rows.join("")}</table>`);
  }
  const body = requestBody?.content["application/json"]?.schema;
  if (body !== undefined) parts.push(`<h4>Body</h4><p>${typeOf(body)}</p>${exampleOf(body, schemas)}`);
  const rows = Object.entries(responses).map(([status, response]) => {
    const schema = Object.values(response.content ?? {})[0]?.schema;
    const headers = Object.keys(response.headers ?? {}).map((name) => `<code>${name}</code>`);
    const extra = headers.length > 0 ? `<br><small>Headers: ${headers.join(", ")}</small>` : "";
    const kind = status.startsWith("2") ? "ok" : "bad";
    return `<tr><td><b class="${kind}">${status}</b></td><td>${prose(response.description)}${extra}</td><td>${schema === undefined ? "" : typeOf(schema)}</td></tr>`;
  });
  parts.push(`<h4>Answers</h4><table>${rows.join("")}</table>`);
  return `<section id="${anchor}">${parts.join("\n")}</section>`;
}

function exampleOf(schema: Schema, schemas: Schemas): string {
  const example = schemas.get(schema.$ref?.split("/").at(-1) ?? "")?.example;
  return example === undefined ? "" : `<pre>${escape(JSON.stringify(example, null, 2))}</pre>`;
}

function schemaSection(name: string, schema: Schema): string {
  const about = schema.description === undefined ? "" : `<p>${prose(schema.description)}</p>`;
  return `<section class="schema" id="schema-${name}"><h3>${name}</h3>${about}${members(schema)}</section>`;
}

function members(schema: Schema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]) =>
    memberRow(name, member, schema.required?.includes(name) ?? false),
  );
  return rows.length === 0 ? "<p><i>no members</i></p>" : `<table>${rows.join("")}</table>`;
}

function memberRow(name: string, schema: Schema, required = false, where?: string): string {
  const place = where === undefined ? "" : ` <small>${escape(where)}</small>`;
  const need = required ? "" : " <small>optional</small>";
  const nested = schema.properties ?? schema.items?.properties;
  const inner = nested === undefined ? "" : members(schema.properties === undefined ? (schema.items ?? {}) : schema);
  const about = schema.description === undefined ? "" : prose(schema.description);
  return `<tr><td><code>${escape(name)}</code>${place}${need}</td><td>${typeOf(schema)}</td><td>${about}${inner}</td></tr>`;
}

const CONSTRAINTS = ["minimum", "maximum", "minLength", "maxLength", "pattern", "format"];

function typeOf(schema: Schema): string {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (reference !== undefined) {
    const name = reference.split("/").at(-1) ?? "";
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => `<code>${escape(String(value))}</code>`).join(" · ");
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`;
  const limits = CONSTRAINTS.filter((name) => schema[name] !== undefined).map(
    (name) => `${name} ${String(schema[name])}`,
  );
  const base = escape([schema.type ?? "any"].flat().join(" or "));
  return limits.length === 0 ? base : `${base}<br><small>${escape(limits.join(", "))}</small>`;
}

function errorTable(): string {
  const rows = Object.entries(ERROR_CATALOGUE).map(
    ([code, { status, title, retryable }]) =>
      `<tr><td><b class="bad">${status}</b></td><td><code>${code}</code></td><td>${escape(title)}</td><td>${retryable ? "retry" : ""}</td></tr>`,
  );
  return `<table>${rows.join("")}</table>`;
}
