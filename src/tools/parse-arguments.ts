import { z } from "zod";
import { readLenient } from "../llm/lenient-json.ts";
import { type AnyTool, ToolError } from "./tool.ts";

type Arguments = Record<string, unknown>;

function toObject(name: string, raw: unknown): Arguments {
  if (raw === null || raw === undefined) return {};
  if (typeof raw === "object" && !Array.isArray(raw)) return raw as Arguments;
  const kind = Array.isArray(raw) ? "an array" : `a ${typeof raw}`;
  throw new ToolError(`the arguments of ${name} must be one JSON object, not ${kind}`);
}

function fromJson(name: string, text: string): unknown {
  if (text.trim() === "") return {};
  const mended = readLenient(text);
  if (mended !== undefined) return mended;
  throw new ToolError(`the arguments of ${name} are not valid JSON (${faultOf(text)}); send one JSON object`);
}

function faultOf(text: string): string {
  try {
    JSON.parse(text);
    return "it cannot be read";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** What of a tool its arguments depend on. */
type Taking = Pick<AnyTool, "name" | "input">;

/** What a caller sent as arguments, as the tool's input. Values that are null count as left out. */
export function parseArguments(tool: Taking, sent: unknown): unknown {
  const given = toObject(tool.name, typeof sent === "string" ? fromJson(tool.name, sent) : sent);
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const parsed = tool.input.safeParse(present);
  if (parsed.success) return parsed.data;
  throw new ToolError(
    `invalid arguments for ${tool.name}:\n${z.prettifyError(parsed.error)}\n${usage(tool)}`,
  );
}

function usage(tool: Taking): string {
  const { properties = {}, required = [] } = z.toJSONSchema(tool.input, { io: "input" });
  const names = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`));
  return names.length === 0 ? "It takes no arguments." : `It takes: ${names.join(", ")}.`;
}
