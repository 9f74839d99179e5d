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

/** Leaves out the bound that zod states for every whole number: it is the model's context, and says nothing. */
function withoutSafeInteger(name: string, value: unknown): unknown {
  return name === "maximum" && value === Number.MAX_SAFE_INTEGER ? undefined : value;
}

/** JSON Schema of a tool's arguments: closed, and what is not required may be left out or null. */
export function argumentsSchema(tool: AnyTool): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: "input" }) as Schema;
  const required = new Set(schema.required ?? []);
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => [
    name,
    required.has(name) ? property : orNull(property),
  ]);
  const closed = { ...schema, properties: Object.fromEntries(properties), required: [...required] };
  return JSON.parse(JSON.stringify(closed, withoutSafeInteger));
}

/** A tool as a function definition for a model. */
export function toDefinition(tool: AnyTool): ToolDefinition {
  return { name: tool.name, description: tool.description, parameters: argumentsSchema(tool) };
}
