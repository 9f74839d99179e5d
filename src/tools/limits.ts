import { z } from "zod";
import type { AnyTool } from "./tool.ts";

/**
 * A whole number whose limits never fail a call: {@link withinLimits} clamps values beyond them. The limits are in the schema for people; a
 * number that must not be replaced by another is declared with `min` and `max` instead.
 */
export function wholeNumber(minimum: number, maximum?: number) {
  return z.int().meta(maximum === undefined ? { minimum } : { minimum, maximum });
}

interface Limits {
  minimum: number;
  maximum: number;
  /** Whether it has a default: then a value below the minimum is clamped; otherwise it counts as omitted. */
  hasDefault: boolean;
}

const known = new WeakMap<AnyTool["input"], ReadonlyMap<string, Limits>>();

function limitsOf({ input }: AnyTool): ReadonlyMap<string, Limits> {
  const found = known.get(input);
  if (found) return found;
  const limits = input instanceof z.ZodObject ? readLimits(input) : new Map<string, Limits>();
  known.set(input, limits);
  return limits;
}

function readLimits(input: z.ZodObject): ReadonlyMap<string, Limits> {
  const { properties = {} } = z.toJSONSchema(input, { io: "input" });
  return new Map(
    Object.entries(properties).flatMap(([name, schema]) => {
      if (typeof schema !== "object" || schema.type !== "integer") return [];
      const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema;
      return [[name, { minimum, maximum, hasDefault: input.shape[name] instanceof z.ZodDefault }]];
    }),
  );
}

/** Arguments with every number within its limits, and a description of the changes. */
export function withinLimits(tool: AnyTool, parsed: unknown): { input: unknown; changes: string[] } {
  const input: Record<string, unknown> = { ...(parsed as object) };
  const changes: string[] = [];
  for (const [name, { minimum, maximum, hasDefault }] of limitsOf(tool)) {
    const value = input[name];
    if (typeof value !== "number") continue;
    if (value > maximum) {
      input[name] = maximum;
      changes.push(`${name} ${value} is more than ${maximum}: ${maximum} was taken.`);
    } else if (value < minimum) {
      if (hasDefault) input[name] = minimum;
      else delete input[name];
      const instead = hasDefault ? `${minimum} was taken` : "it counts as left out";
      changes.push(`${name} ${value} is less than ${minimum}: ${instead}.`);
    }
  }
  return changes.length === 0 ? { input: parsed, changes } : { input, changes };
}
