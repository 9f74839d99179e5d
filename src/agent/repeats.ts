import type { ToolCall } from "../llm/model.ts";

/** What makes two calls the same: name and arguments as values, whatever the spacing and the order of keys. */
export function callKey(call: ToolCall): string {
  return `${call.name} ${canonical(call.arguments)}`;
}

/**
 * Counts how many turns in a row made the same calls, the given one included. A call that a turn makes several times counts
 * once, as does the order in which it makes them.
 */
export function createRepeatCounter(): (calls: readonly ToolCall[]) => number {
  let last = "";
  let count = 0;
  return (calls) => {
    const key = [...new Set(calls.map(callKey))].sort().join("\n");
    count = key === last ? count + 1 : 1;
    last = key;
    return count;
  };
}

function canonical(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), (_, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    );
  } catch {
    return json;
  }
}
