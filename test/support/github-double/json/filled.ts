import { described, isObject, type Json, type JsonObject } from "../openapi.ts";

/** The address in fields that nobody follows. */
export const nowhere = "https://github.example/";

const ofFormat = new Map<Json | undefined, string>([
  ["uri", nowhere],
  ["date-time", "2026-01-01T00:00:00Z"],
]);

const schemaOf = (name: string): JsonObject => {
  const schema = described.schemas[name];
  if (!schema) throw new Error(`The cut description has no schema ${name}`);
  return schema;
};

/** The required fields of a schema: null where that is allowed, otherwise empty, false, 0 or a fixed date or address. */
const emptyFields = ({ required = [], properties = {} }: JsonObject): JsonObject =>
  Object.fromEntries(
    (required as string[]).map((name) => [name, emptyValue((properties as JsonObject)[name] ?? {})]),
  );

function emptyValue(schema: Json): Json {
  if (!isObject(schema)) return null;
  if (typeof schema.$ref === "string") return emptyValue(schemaOf(schema.$ref.replace("#/schemas/", "")));
  const alternatives = (schema.anyOf ?? schema.oneOf ?? schema.allOf) as Json[] | undefined;
  if (alternatives) return emptyValue(alternatives[0] ?? null);
  const type = [schema.type].flat();
  if (type.includes("null")) return null;
  if (Array.isArray(schema.enum)) return schema.enum[0] ?? null;
  if (type.includes("string")) return ofFormat.get(schema.format) ?? "";
  if (type.includes("boolean")) return false;
  if (type.includes("array")) return [];
  return type.includes("object") ? emptyFields(schema) : 0;
}

const templates = new Map<string, JsonObject>();

/** `known`, with empty values in all other fields that GitHub's description requires: nothing here reads them. */
export function filled<Known extends object>(name: string, known: Known): JsonObject & Known {
  const template = templates.get(name) ?? emptyFields(schemaOf(name));
  templates.set(name, template);
  return { ...template, ...known };
}
