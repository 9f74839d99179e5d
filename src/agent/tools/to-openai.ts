import { z } from "zod";
import type { ToolDefinition } from "../llm/model.ts";
import type { AnyTool } from "./tool.ts";

type Schema = Record<string, unknown> & {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
};

/** The same schema that also accepts null: many models write null for omitted arguments. */
function orNull(schema: Schema): Schema {
  if (typeof schema.type !== "string") return { anyOf: [schema, { type: "null" }] };
  const nullable: Schema = { ...schema, type: [schema.type, "null"] };
  return schema.enum ? { ...nullable, enum: [...schema.enum, null] } : nullable;
}

/** Bounds of values. Numbers beyond them are clamped; the others are in the descriptions, because not every provider supports the keywords. */
const bounds = new Set(["minimum", "maximum", "minLength", "maxLength", "maxItems"]);

/** Whether a schema keyword is useless for a model. Every request pays for the definitions. */
function isNoise(name: string, value: unknown): boolean {
  // For objects with any keys; not every provider supports the keyword.
  if (name === "propertyNames") return true;
  if (name === "default") return value === false || (Array.isArray(value) && value.length === 0);
  return bounds.has(name) && typeof value === "number";
}

/** A call beyond these limits is refused or cut, so the model must know them. */
function withLimit(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  const { maxLength, maxItems, description = "" } = schema as Schema & Record<string, unknown>;
  const limit = typeof maxLength === "number" ? `${maxLength} characters` : `${maxItems} entries`;
  if (typeof maxLength !== "number" && typeof maxItems !== "number") return schema;
  return { ...schema, description: `${description} Up to ${limit}.`.trim() };
}

/** JSON Schema of a tool's arguments: closed, and optional arguments may be omitted or null. */
function argumentsSchema(tool: Pick<AnyTool, "input">): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: "input" }) as Schema;
  const required = new Set(schema.required ?? []);
  const properties = Object.entries(schema.properties ?? {}).map(([name, { description, ...property }]) => {
    // The name of a switch explains it.
    const described =
      description === undefined || property.type === "boolean" ? property : { ...property, description };
    return [name, required.has(name) ? described : orNull(described)];
  });
  const closed = { ...schema, properties: Object.fromEntries(properties), required: [...required] };
  return JSON.parse(
    JSON.stringify(closed, (name, value) => (isNoise(name, value) ? undefined : withLimit(value))),
  );
}

export function toDefinition(tool: Pick<AnyTool, "name" | "description" | "input">): ToolDefinition {
  return { name: tool.name, description: tool.description, parameters: argumentsSchema(tool) };
}
