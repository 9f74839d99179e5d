import { z } from "zod";
import type { ToolDefinition } from "../llm/model.ts";
import type { AnyTool } from "./tool.ts";

type Schema = Record<string, unknown> & {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
};

/** The same schema, null accepted too: many models write null for what others leave out. */
function orNull(schema: Schema): Schema {
  if (typeof schema.type !== "string") return { anyOf: [schema, { type: "null" }] };
  const nullable: Schema = { ...schema, type: [schema.type, "null"] };
  return schema.enum ? { ...nullable, enum: [...schema.enum, null] } : nullable;
}

/** Bounds of values. Numbers beyond them are clamped, and descriptions name those that matter in practice. */
const bounds = new Set(["minimum", "maximum", "minLength", "maxLength", "maxItems"]);

/** What of a schema says nothing to a model. Every request pays for the definitions. */
function isNoise(name: string, value: unknown): boolean {
  // Of names that may be any; not every provider knows the word.
  if (name === "propertyNames") return true;
  if (name === "default") return value === false || (Array.isArray(value) && value.length === 0);
  return bounds.has(name) && typeof value === "number";
}

/** The name of a switch says what it does. */
const isSwitch = ({ type }: Schema) => type === "boolean";

const withoutNoise = (name: string, value: unknown) => (isNoise(name, value) ? undefined : value);

/** JSON Schema of a tool's arguments: closed, and what is not required may be left out or null. */
function argumentsSchema(tool: AnyTool): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: "input" }) as Schema;
  const required = new Set(schema.required ?? []);
  const properties = Object.entries(schema.properties ?? {}).map(([name, { description, ...property }]) => {
    const described =
      description === undefined || isSwitch(property) ? property : { ...property, description };
    return [name, required.has(name) ? described : orNull(described)];
  });
  const closed = { ...schema, properties: Object.fromEntries(properties), required: [...required] };
  return JSON.parse(JSON.stringify(closed, withoutNoise));
}

/** A tool as a function definition for a model. */
export function toDefinition(tool: AnyTool): ToolDefinition {
  return { name: tool.name, description: tool.description, parameters: argumentsSchema(tool) };
}
