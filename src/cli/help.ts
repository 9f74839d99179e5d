import { wrap } from "../reporters/terminal-style.ts";
import type { Command, OptionSpec } from "./command.ts";
import { commands, type Entry } from "./commands.ts";

const WIDTH = 100;

/** Two columns, the right one wrapped under itself. */
function table(rows: readonly (readonly [string, string])[]): string[] {
  const left = Math.max(...rows.map(([name]) => name.length)) + 2;
  return rows.flatMap(([name, text]) =>
    wrap(text, WIDTH - left - 2).map((line, index) => `  ${(index ? "" : name).padEnd(left)}${line}`),
  );
}

function optionRow([name, spec]: [string, OptionSpec]): [string, string] {
  if (spec.type === "boolean") return [`--${name}`, spec.description];
  const choices = spec.choices ? ` (${spec.choices.join(", ")})` : "";
  const fallback = spec.default === undefined ? "" : ` (default: ${spec.default})`;
  return [`--${name} ${spec.value}`, `${spec.description}${choices}${fallback}`];
}

/** Help of the whole program. */
export function programHelp(): string {
  return [
    "Reviews pull requests: few comments, on the right line.",
    "",
    "Usage: hunkwise COMMAND [OPTIONS]",
    "",
    "Commands:",
    ...table(commands.map((one) => [one.name, one.summary] as const)),
    "",
    "Options:",
    ...table([
      ["--help", "print this, or after a command's name the help of the command"],
      ["--version", "print the version"],
    ]),
    "",
    "Examples:",
    "  hunkwise review --base main      review the checked-out branch against main",
    "  hunkwise doctor                  see what is missing",
    "",
    "Without OPENAI_API_KEY and OPENAI_BASE_URL reviews run offline, with only the built-in analyzers.",
    "",
  ].join("\n");
}

/** Help of one command. */
export function commandHelp({ name, summary }: Entry, command: Command): string {
  const positionals = command.positionals.map((one) => (one.required ? one.name : `[${one.name}]`));
  const options = Object.entries(command.options).map(optionRow);
  const lines = [
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    "",
    `Usage: ${["hunkwise", name, ...positionals, "[OPTIONS]"].join(" ")}`,
  ];
  if (command.positionals.length > 0) {
    lines.push("", ...table(command.positionals.map((one) => [one.name, one.description] as const)));
  }
  lines.push("", "Options:", ...table([...options, ["--help", "print this"]]));
  if (command.notes.length > 0) lines.push("", ...command.notes.flatMap((note) => wrap(note, WIDTH)));
  if (command.examples.length > 0) {
    lines.push("", "Examples:");
    for (const { command: shown, says } of command.examples) lines.push(`  # ${says}`, `  ${shown}`);
  }
  return `${lines.join("\n")}\n`;
}
