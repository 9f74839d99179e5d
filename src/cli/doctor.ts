import { once } from "node:events";
import { createStyle, plainLine, type Style } from "../reporters/terminal-style.ts";
import { wrap } from "../reporters/terminal-wrap.ts";
import { type CommandIo, defineCommand, exitCodes } from "./command.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { wantsColour, write } from "./output.ts";

export const doctor = defineCommand({
  positionals: [],
  options: {},
  notes: [
    "Checks Node, git, ripgrep, the environment, the data folder and its database, the App's credentials, the models, and what " +
      "runs commands. Each model is asked a small question or two, which costs a fraction of a cent.",
    "",
    "Exit code: 0 nothing failed, 1 something did.",
  ],
  examples: [{ command: "hunkwise doctor", says: "what works, what is missing and what to do" }],
  run: runDoctor,
});

const NAME_WIDTH = 13;
const LEAD = 6;

async function runDoctor(_values: unknown, _positionals: readonly string[], io: CommandIo): Promise<number> {
  const { checks, readEnvironment } = await import("./doctor-checks.ts");
  const style = createStyle(wantsColour(io.stdout), io.stdout.columns || 100);
  const environment = readEnvironment();
  // A check that waits for a far side need not hear of it.
  const stopped = once(io.signal, "abort");
  let failed = false;
  for (const { name, run } of checks) {
    const found = await Promise.race([run(environment, io.signal), stopped]);
    io.signal.throwIfAborted();
    for (const diagnosis of [found].flat() as Diagnosis[]) {
      failed ||= diagnosis.state === "fail";
      await write(io.stdout, row(name, diagnosis, style));
    }
  }
  return failed ? exitCodes.found : exitCodes.clean;
}

function row(name: string, { state, says, remedy }: Diagnosis, style: Style): string {
  const paint = { ok: style.added, warn: style.alarm, fail: style.removed }[state];
  const width = style.width - LEAD - NAME_WIDTH;
  const indent = " ".repeat(LEAD + NAME_WIDTH);
  const [first = "", ...rest] = wrap(plainLine(says), width);
  const todo = remedy === null ? [] : wrap(plainLine(remedy), width);
  const lines = [
    paint(state.padEnd(LEAD)) + name.padEnd(NAME_WIDTH) + first,
    ...rest.map((line) => indent + line),
    ...todo.map((line) => indent + style.bold(line)),
  ];
  return `${lines.join("\n")}\n`;
}
