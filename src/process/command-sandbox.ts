import { z } from "zod";
import { namedCommands, type RepoConfig } from "../config/repo-config.ts";
import { Sandbox } from "../sandbox/bubblewrap.ts";
import { type FindOptions, findSandbox } from "../sandbox/find-sandbox.ts";

/** A sandbox for the commands of a fix and the tests of a proof, and their memory limit. */
export const CommandSandbox = z.strictObject({ sandbox: Sandbox, memoryMb: z.int().min(1) });
export type CommandSandbox = z.infer<typeof CommandSandbox>;

/** Where the tests of proofs run. */
export const TestPlace = z.strictObject({
  sandbox: CommandSandbox,
  /** Absolute path of the prepared environment; null if the configuration prepares none. */
  environment: z.string().nullable(),
});
export type TestPlace = z.infer<typeof TestPlace>;

/** The sandbox of this machine; null if none is available or the configuration runs nothing. */
export type FindCommandSandbox = (
  config: Pick<RepoConfig, "commands" | "prove">,
  signal: AbortSignal,
) => Promise<CommandSandbox | null>;

interface CommandSandboxOptions extends Omit<FindOptions, "signal"> {
  memoryMb: number;
  /** Called if there is no sandbox. */
  warn(why: string, remedy: string): void;
}

/** Finds a sandbox when it is first needed, and keeps it. If there is none, the next work tries again, which takes half a second. */
export function createCommandSandbox({
  memoryMb,
  warn,
  ...where
}: CommandSandboxOptions): FindCommandSandbox {
  let kept: CommandSandbox | null = null;
  return async (config, signal) => {
    if (Object.keys(namedCommands(config)).length === 0 && !config.prove.enabled) return null;
    if (kept) return kept;
    const found = await findSandbox({ ...where, signal });
    if (found.sandbox) kept = { sandbox: found.sandbox, memoryMb };
    else warn(found.why, found.remedy);
    return kept;
  };
}
