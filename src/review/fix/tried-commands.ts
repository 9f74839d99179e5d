import { createHash } from "node:crypto";
import type { Edit } from "../../git/workspace.ts";
import type { CommandEnd, CommandPort, CommandRequest, EditPort } from "../../tools/tool.ts";
import type { CommandRun, TriedOut } from "./fix-input.ts";

/** A hash of the edited files. */
export function stateOf(edits: readonly Edit[]): string {
  const hash = createHash("sha256");
  for (const { path, after } of edits) {
    const content = after && createHash("sha256").update(after.bytes).digest("hex");
    hash.update(JSON.stringify([path, after?.mode ?? null, content]));
  }
  return hash.digest("hex");
}

/** Runs commands on the files of a fix, which they change through `edit` only; or why there are none, for people. */
export type FixCommands = { open(edit: EditPort): CommandPort } | { why: string };

/** The commands of a fix and their results. */
export interface TriedCommands {
  /** Undefined if no command can run. */
  port: CommandPort | undefined;
  /** The results of commands that started with the current files. A command that changed files does not count for its result. */
  now(): Promise<TriedOut>;
}

const NOT_RUN = "the model ran no command after its last change";
const BROKEN = "the sandbox could not run it";

/** Records on which state of the files each command ran. */
export function createTriedCommands(commands: FixCommands, edit: EditPort): TriedCommands {
  if ("why" in commands) {
    return { port: undefined, now: async () => ({ commands: [], why_none: commands.why }) };
  }
  const { allowed, run } = commands.open(edit);
  let brokenOn: string | null = null;
  const runs: { on: string; how: CommandRun }[] = [];
  const stateNow = async () => stateOf(await edit.edits());
  return {
    port: {
      allowed,
      async run(request, signal) {
        const on = await stateNow();
        const end = await run(request, signal).catch((error: unknown) => {
          brokenOn = on;
          throw error;
        });
        runs.push({ on, how: runOf(request, end) });
        return end;
      },
    },
    async now() {
      const state = await stateNow();
      const newest = new Map(
        runs.filter(({ on }) => on === state).map(({ how }) => [`${how.folder}\n${how.command}`, how]),
      );
      if (newest.size > 0) return { commands: [...newest.values()], why_none: null };
      return { commands: [], why_none: brokenOn === state ? BROKEN : NOT_RUN };
    },
  };
}

/** With its environment variables in front, because the result may depend on them. */
function runOf(
  { command, folder, env }: CommandRequest,
  { exitCode: exit_code, ended }: CommandEnd,
): CommandRun {
  const given = Object.entries(env).map(([name, value]) => `${name}=${JSON.stringify(value)} `);
  return { command: given.join("") + command, folder, exit_code, ended };
}
