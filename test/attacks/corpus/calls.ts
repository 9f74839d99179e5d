import { z } from "zod";
import type { AnyTool } from "../../../src/agent/tools/tool.ts";
import { linkPaths, secretPaths, trickPaths } from "./paths.ts";
import { hostilePatterns } from "./patterns.ts";
import type { Places } from "./places.ts";
import { oddArguments, oddValues } from "./values.ts";

/** A model's call; its arguments are JSON, or should be. */
export interface Call {
  name: string;
  arguments: string;
}

interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

/** An argument of a tool, or a nested one: the names and indexes that lead to it. */
interface Slot {
  at: readonly (string | number)[];
  /** Whether its type allows any text. */
  takesText: boolean;
}

function slotsOf({ type, properties, items, enum: values, anyOf }: Schema, at: Slot["at"] = []): Slot[] {
  const below = [
    ...Object.entries(properties ?? {}).flatMap(([name, one]) => slotsOf(one, [...at, name])),
    ...(items ? slotsOf(items, [...at, 0]) : []),
    ...(anyOf ?? []).flatMap((one) => slotsOf(one, at)),
  ];
  const takesText = type === "string" && values === undefined;
  return at.length === 0 ? below : [{ at, takesText }, ...below];
}

/** A copy of the value with one place replaced; missing parents are created. */
function withValue(given: unknown, [step, ...rest]: Slot["at"], value: unknown): unknown {
  if (step === undefined) return value;
  if (typeof step === "number") return [withValue(undefined, rest, value)];
  const object = typeof given === "object" && given !== null ? given : {};
  return { ...object, [step]: withValue(Reflect.get(object, step), rest, value) };
}

const schemaOf = ({ input }: AnyTool) => z.toJSONSchema(input, { io: "input" }) as Schema;

/** Arguments with these names are paths, at any depth. */
const isPath = ({ at }: Slot) => /path|director|folder/.test(String(at.at(-1)));

/** The hostile values of calls. */
export interface Corpus {
  /** For every argument that is a path. */
  paths?: readonly string[];
  /** For every argument that is text, paths too. */
  patterns?: readonly string[];
  /** For every argument of any type. */
  values?: readonly unknown[];
  /** Instead of all arguments. */
  whole?: readonly string[];
}

/** All hostile values. */
export const everything = (places: Places): Required<Corpus> => ({
  paths: [...secretPaths(places), ...trickPaths(places), ...linkPaths],
  patterns: hostilePatterns(places),
  values: oddValues,
  whole: oddArguments,
});

/**
 * Each tool with each hostile value in each argument that may hold it, with the other arguments from its example. The schema of a tool
 * determines its arguments, so new tools are attacked too. Tools that report get only paths, no other text: their texts are free.
 */
export function hostileCalls(tools: readonly AnyTool[], corpus: Corpus): Call[] {
  return tools.flatMap((tool) => [
    ...hostileArguments(tool, corpus).flatMap(({ slots, value }) =>
      slots.map((slot) => callOf(tool, slot, value)),
    ),
    ...wholeOf(tool, corpus),
  ]);
}

/** The same, but each value goes to only one of these arguments, in turn: every tool still gets every value. */
export function fewHostileCalls(tools: readonly AnyTool[], corpus: Corpus): Call[] {
  return tools.flatMap((tool) => [
    ...hostileArguments(tool, corpus).map(({ slots, value }, at) =>
      callOf(tool, slots[at % slots.length]!, value),
    ),
    ...wholeOf(tool, corpus),
  ]);
}

const callOf = ({ name, example }: AnyTool, { at }: Slot, value: unknown): Call => ({
  name,
  arguments: JSON.stringify(withValue(example, at, value)),
});

const wholeOf = ({ name }: AnyTool, { whole = [] }: Corpus): Call[] =>
  whole.map((text) => ({ name, arguments: text }));

/** Hostile values and the arguments that each is for. */
function hostileArguments(
  tool: AnyTool,
  { paths = [], patterns = [], values = [] }: Corpus,
): { slots: Slot[]; value: unknown }[] {
  const all = slotsOf(schemaOf(tool));
  const reads = tool.kind === "read";
  const meant = [
    { slots: all.filter((slot) => slot.takesText && isPath(slot)), values: paths },
    { slots: reads ? all.filter((slot) => slot.takesText) : [], values: patterns },
    { slots: all, values: values.filter((value) => reads || typeof value !== "string") },
  ];
  return meant.flatMap(({ slots, values: hostile }) =>
    slots.length === 0 ? [] : hostile.map((value) => ({ slots, value })),
  );
}
