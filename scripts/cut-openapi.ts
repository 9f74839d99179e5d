/**
 * Cuts the endpoints the bot uses out of GitHub's OpenAPI description into `fixtures/openapi/github.json`, as JSON Schema
 * that ajv reads. The description is 385 MB installed, so it is no dependency: run this by hand when an endpoint is
 * added or GitHub changed something. The file itself lists the endpoints, one a line; arguments add others.
 *
 *   npm pack @octokit/openapi        (in an empty folder; then unpack package/generated/api.github.com.json)
 *   node scripts/cut-openapi.ts PATH/TO/api.github.com.json ["GET /repos/{owner}/{repo}/branches"...]
 */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { described, isObject, type Json, type JsonObject } from "../test/support/github-double/openapi.ts";

/** Keywords that are documentation, without a meaning to validators. */
const prose = new Set([
  "description",
  "title",
  "example",
  "examples",
  "externalDocs",
  "deprecated",
  "default",
]);

const [source, ...added] = process.argv.slice(2);
if (!source) throw new Error("Usage: node scripts/cut-openapi.ts PATH/TO/api.github.com.json [ENDPOINT...]");
const description = JSON.parse(readFileSync(source, "utf8")) as JsonObject;
const schemas: JsonObject = {};

/** The target of a `#/components/...` reference. */
function follow(reference: string): JsonObject {
  let found: Json | undefined = description;
  for (const step of reference.replace(/^#\//, "").split("/"))
    found = isObject(found) ? found[step] : undefined;
  if (!isObject(found)) throw new Error(`${reference} leads nowhere`);
  return found;
}

const resolved = (value: Json | undefined): JsonObject => {
  if (!isObject(value)) throw new Error(`expected an object, found ${JSON.stringify(value)}`);
  return typeof value.$ref === "string" ? follow(value.$ref) : value;
};

/** Converts OpenAPI 3.0 to JSON Schema: no prose, `nullable` as a type, references collected below `#/schemas/`. */
function schemaOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(schemaOf);
  if (!isObject(value)) return value;
  if (typeof value.$ref === "string") return { $ref: `#/schemas/${collect(value.$ref)}` };
  const out: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    if (key === "nullable" || key.startsWith("x-")) continue;
    if (key === "properties" && isObject(inner)) out[key] = propertiesOf(inner);
    else if (!prose.has(key)) out[key] = key === "enum" || key === "required" ? inner : schemaOf(inner);
  }
  return value.nullable === true ? orNull(out) : out;
}

/** Property names are data: properties called "title" or "default" stay. */
function propertiesOf(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, schemaOf(schema)]));
}

function orNull(schema: JsonObject): JsonObject {
  if (typeof schema.type !== "string") return { anyOf: [schema, { type: "null" }] };
  const values = schema.enum;
  return {
    ...schema,
    type: [schema.type, "null"],
    ...(Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {}),
  };
}

function collect(reference: string): string {
  const name = reference.split("/").at(-1) ?? reference;
  if (!(name in schemas)) {
    schemas[name] = true; // taken, so that a schema that contains itself ends
    schemas[name] = schemaOf(follow(reference));
  }
  return name;
}

function jsonSchema(holder: JsonObject): Json {
  const content = holder.content;
  if (!isObject(content)) return null;
  return isObject(content["application/json"]) ? schemaOf(content["application/json"].schema ?? true) : null;
}

function operationOf(endpoint: string): JsonObject {
  const [method = "", path = ""] = endpoint.split(" ");
  const operation = resolved(resolved(resolved(description.paths)[path])[method.toLowerCase()]);
  const parameters = ((operation.parameters ?? []) as Json[]).map(resolved);
  const query = parameters.filter((parameter) => parameter.in === "query");
  const body = operation.requestBody ? resolved(operation.requestBody) : undefined;
  return {
    method,
    path,
    id: operation.operationId ?? endpoint,
    docs: resolved(operation.externalDocs).url ?? "",
    query: Object.fromEntries(query.map((one) => [String(one.name), schemaOf(one.schema ?? true)])),
    body: body ? { required: body.required === true, schema: jsonSchema(body) } : null,
    responses: Object.fromEntries(
      Object.entries(resolved(operation.responses)).map(([status, one]) => [
        status,
        jsonSchema(resolved(one)),
      ]),
    ),
  };
}

const endpoints = new Set([...described.operations.map(({ method, path }) => `${method} ${path}`), ...added]);
const operations = [...endpoints].map(operationOf);
const version = resolved(description.info).version ?? "";
const target = resolve(import.meta.dirname, "../fixtures/openapi/github.json");
const sorted = Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
const lines = (entries: string[]) => entries.join(",\n");
// One line per operation and schema: diffs show what changed, and the file stays small.
writeFileSync(
  target,
  `{"source":"GitHub's OpenAPI description (MIT), version ${version}, cut by scripts/cut-openapi.ts",\n"operations":[\n${lines(
    operations.map((one) => JSON.stringify(one)),
  )}\n],\n"schemas":{\n${lines(Object.entries(sorted).map(([name, schema]) => `${JSON.stringify(name)}:${JSON.stringify(schema)}`))}\n}}\n`,
);
console.log(`${operations.length} operations, ${Object.keys(schemas).length} schemas -> ${target}`);
