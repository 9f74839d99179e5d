import { createStyle, plainLine } from "../reporters/terminal-style.ts";
import { wantsColour } from "./output.ts";

/** Log lines as JSON for machines, and in words where a person watches a terminal. */
export function logDestination(stream: NodeJS.WriteStream): { write(line: string): void } {
  if (!stream.isTTY) return stream;
  const style = createStyle(wantsColour(stream), stream.columns);
  const paint: Record<string, (text: string) => string> = {
    info: style.code,
    warn: style.alarm,
    error: style.removed,
    fatal: style.removed,
  };
  return {
    write(line) {
      const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const clock = style.dim(String(time).slice(11, 19));
      const label = (paint[String(level)] ?? style.dim)(String(level).padEnd(5));
      stream.write(`${clock} ${label} ${plainLine(String(message))}${style.dim(plainLine(show(fields)))}\n`);
    },
  };
}

/** Fields as ` key=value`; what has parts, like an error, by its message alone. */
function show(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([name, value]) => value !== null && name !== "part")
    .map(([name, value]) => ` ${name}=${typeof value === "object" ? messageOf(value) : String(value)}`)
    .join("");
}

function messageOf(value: unknown): string {
  const { message } = value as { message?: unknown };
  return JSON.stringify(message ?? value);
}
