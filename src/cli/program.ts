import { AppError } from "../errors.ts";
import type { CommandIo } from "./command.ts";
import { commands } from "./commands.ts";
import { commandHelp, programHelp } from "./help.ts";
import { didYouMean } from "./nearest.ts";
import { write } from "./output.ts";
import { parseCommand } from "./parse-command.ts";
import { programVersion } from "./version.ts";

/** Runs one command line and resolves to the exit code. Rejects with what the command rejects with. */
export async function runProgram(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    await write(io.stderr, programHelp());
    return 2;
  }
  if (name === "--help" || name === "-h") return say(io, programHelp());
  if (name === "--version" || name === "-V") return say(io, `${programVersion()}\n`);
  if (name === "help")
    return rest.length === 0 ? say(io, programHelp()) : runProgram([...rest, "--help"], io);
  const entry = commands.find((one) => one.name === name);
  if (!entry) throw unknown(name);
  const command = await entry.load();
  const parsed = parseCommand(entry.name, command, rest);
  if (parsed.help) return say(io, commandHelp(entry, command));
  return command.run(parsed.values, parsed.positionals, io);
}

async function say(io: CommandIo, text: string): Promise<number> {
  await write(io.stdout, text);
  return 0;
}

function unknown(name: string): AppError {
  const option = name.startsWith("-");
  const known = option ? ["--help", "--version"] : commands.map((one) => one.name);
  return new AppError("usage", `unknown ${option ? "option" : "command"} '${name}'`, {
    remedy: didYouMean(name, known) || "See 'hunkwise --help'.",
  });
}
