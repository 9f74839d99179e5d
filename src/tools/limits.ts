import { z } from "zod";
import type { AnyTool } from "./tool.ts";

/**
 * A whole number whose limits fail no call: {@link withinLimits} clamps what is beyond them. The limits
 * stand in the schema for people; a number for which another one must not be put is declared with `min` and `max` instead.
 */
export function wholeNumber(minimum: number, maximum?: number) {
  return z.int().meta(maximum === undefined ? { minimum } : { minimum, maximum });
}

interface Limits {
  minimum: number;
  maximum: number;
  /** Whether something else stands for it when it is left out: then the limit is taken, and otherwise it counts as left out. */
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

/** Arguments with every number within its limits, and what had to be changed for it in words. */
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
