import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import formats from "ajv-formats";

/** Validators of the endpoints in use, from GitHub's own description (see scripts/cut-openapi.ts). */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

interface DescribedOperation {
  method: string;
  path: string;
  id: string;
  docs: string;
  query: JsonObject;
  body: { required: boolean; schema: Json } | null;
  responses: Record<string, Json>;
}

export interface Operation {
  id: string;
  docs: string;
  path: Record<string, string>;
  /** Returns complaints about the query; converts its values to the described types in place. */
  checkQuery(query: Record<string, unknown>): string[];
  checkBody(body: unknown): string[];
  checkResponse(status: number, body: unknown): string[];
}

export const described = JSON.parse(
  readFileSync(resolve(import.meta.dirname, "../../../fixtures/openapi/github.json"), "utf8"),
) as { operations: DescribedOperation[]; schemas: Record<string, JsonObject> };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const properties = (schema: Json | undefined): JsonObject =>
  isObject(schema) && isObject(schema.properties) ? schema.properties : {};

/**
 * Corrects the description where GitHub differs: a place that is gone is null, and so is a deleted fork. In a list, the description
 * requires the account of an installation to be a person and an enterprise at once; elsewhere it is one of them.
 */
function correctDescription(): void {
  const place = properties(described.schemas["pull-request-review-comment"]);
  for (const field of ["position", "line"]) place[field] = { type: ["integer", "null"] };
  for (const name of ["pull-request", "pull-request-simple"]) {
    const head = properties(properties(described.schemas[name]).head);
    head.repo = { anyOf: [{ $ref: "#/schemas/repository" }, { type: "null" }] };
  }
  const installations = described.operations.find(({ id }) => id === "apps/list-installations");
  if (installations)
    installations.responses[200] = { type: "array", items: { $ref: "#/schemas/installation" } };
}

/** Relaxes `oneOf` to `anyOf`: where the description requires exactly one of two shapes, every answer matches both. */
function eitherShape(schema: Json): Json {
  return isObject(schema) && schema.oneOf ? { anyOf: schema.oneOf } : schema;
}

/** Makes objects of a request accept only the described keys, as GitHub's own request validation does. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isObject(schema)) return schema;
  const out: JsonObject = { ...schema };
  if (isObject(schema.properties)) {
    out.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([key, one]) => [key, closed(one)]),
    );
    out.additionalProperties ??= false;
  }
  if (schema.items) out.items = closed(schema.items);
  return out;
}

function say(errors: ErrorObject[] | null | undefined): string[] {
  return (errors ?? []).map((error) => {
    if (error.keyword === "required") return `"${error.params.missingProperty}" wasn't supplied.`;
    if (error.keyword === "additionalProperties") {
      return `"${error.params.additionalProperty}" is not a permitted key.`;
    }
    return `For '${error.instancePath.slice(1) || "body"}', ${error.message}.`;
  });
}

correctDescription();
const options = { strict: false, allErrors: true, validateFormats: true, logger: false } as const;
const strictTypes = new Ajv(options);
const coercing = new Ajv({ ...options, coerceTypes: true });
for (const ajv of [strictTypes, coercing]) {
  formats.default(ajv);
  ajv.addSchema({ $id: "github", schemas: described.schemas });
}

/** Points the references of a schema outside the described file into that file. */
const anchored = (schema: Json): JsonObject =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/schemas/', '"github#/schemas/')) as JsonObject;

const compiled = new Map<string, ValidateFunction>();
function validator(key: string, ajv: Ajv, schema: () => Json): ValidateFunction {
  const known = compiled.get(key) ?? ajv.compile(anchored(schema()));
  compiled.set(key, known);
  return known;
}

const routes = described.operations.map((operation) => ({
  operation,
  // A repository path contains slashes, other parameters do not; a ref of `commits/{ref}` may.
  pattern: new RegExp(
    `^${operation.path.replace(/\{(\w+)\}/g, (_, name) => `(?<${name}>${/^(path|ref)$/.test(name) ? ".+?" : "[^/]+"})`)}$`,
  ),
}));

function operationOf(described: DescribedOperation, path: Record<string, string>): Operation {
  const { id } = described;
  return {
    id,
    docs: described.docs,
    path,
    checkQuery(query) {
      const schema = { type: "object", properties: described.query, additionalProperties: false };
      const check = validator(`${id} query`, coercing, () => schema);
      return check(query) ? [] : say(check.errors);
    },
    checkBody(body) {
      if (!described.body) return body === undefined ? [] : ["A body where none is taken."];
      if (body === undefined) return described.body.required ? ["A body wasn't supplied."] : [];
      const { schema } = described.body;
      const check = validator(`${id} body`, strictTypes, () => closed(schema));
      return check(body) ? [] : say(check.errors);
    },
    checkResponse(status, body) {
      // Refusals that an endpoint does not list (401, 403) have the common shape; null is an answer without a body.
      const listed = described.responses[status];
      const basic = { $ref: "#/schemas/basic-error" };
      const schema = listed === undefined && status >= 400 ? basic : listed && eitherShape(listed);
      if (schema === undefined) return [`${id} has no answer ${status}`];
      if (schema === null) return body === undefined ? [] : [`${id} answers ${status} without a body`];
      const check = validator(`${id} ${status}`, strictTypes, () => schema);
      return check(body) ? [] : (check.errors ?? []).map((one) => `${one.instancePath} ${one.message}`);
    },
  };
}

/** The described operation of a request; undefined if the bot should not use it. */
export function findOperation(method: string, path: string): Operation | undefined {
  for (const { operation, pattern } of routes) {
    if (operation.method !== method) continue;
    const groups = pattern.exec(path)?.groups;
    if (groups || pattern.test(path)) return operationOf(operation, decoded(groups ?? {}));
  }
  return undefined;
}

function decoded(groups: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([key, value]) => [key, decodeURIComponent(value)]));
}
