import { createHash } from "node:crypto";
import type { Edit } from "../../git/workspace.ts";
import type { CommandEnd, CommandPort, CommandRequest, EditPort } from "../../tools/tool.ts";
import type { CommandRun, TriedOut } from "./fix-input.ts";

/** A name for files as edits leave them: equal names mean equal files. */
export function stateOf(edits: readonly Edit[]): string {
  const hash = createHash("sha256");
  for (const { path, after } of edits) {
    const content = after && createHash("sha256").update(after.bytes).digest("hex");
    hash.update(JSON.stringify([path, after?.mode ?? null, content]));
  }
  return hash.digest("hex");
}

/** What runs commands on the files of a fix, which a command changes through `edit` alone; or why nothing does, for people. */
export type FixCommands = { open(edit: EditPort): CommandPort } | { why: string };

/** The commands of a fix, and how those ended that say something of it. */
export interface TriedCommands {
  /** Undefined where none can be run. */
  port: CommandPort | undefined;
  /** How commands ended that began with the files as they stand now. One that changed them says nothing of what it made. */
  now(): Promise<TriedOut>;
}

const NOT_RUN = "none was called for on what was changed last";
const BROKEN = "the sandbox could not run it";

/**
 * Keeps of each command on which files it was run.
 *
 * @param edit the files as a fix may change them
 */
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

/** Variables that were given stand in front, as a shell takes them: a command may hang on them. */
function runOf(
  { command, folder, env }: CommandRequest,
  { exitCode: exit_code, ended }: CommandEnd,
): CommandRun {
  const given = Object.entries(env).map(([name, value]) => `${name}=${JSON.stringify(value)} `);
  return { command: given.join("") + command, folder, exit_code, ended };
}
