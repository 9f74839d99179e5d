import type { ToolCall } from "../llm/model.ts";

/** What makes two calls the same: name and arguments as values, whatever the spacing and the order of keys. */
export function callKey(call: ToolCall): string {
  return `${call.name} ${canonical(call.arguments)}`;
}

/** Counts how many turns in a row made the same calls. */
export interface RepeatCounter {
  /** The turns in a row up to the one with these calls. A call that a turn makes several times counts once, in any order. */
  count(calls: readonly ToolCall[]): number;
  /** Something has changed, so that the same call is another one from now on. */
  reset(): void;
}

export function createRepeatCounter(): RepeatCounter {
  let last = "";
  let count = 0;
  return {
    count(calls) {
      const key = [...new Set(calls.map(callKey))].sort().join("\n");
      count = key === last ? count + 1 : 1;
      last = key;
      return count;
    },
    reset() {
      count = 0;
    },
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
