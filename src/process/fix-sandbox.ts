import { z } from "zod";
import { namedCommands, type RepoConfig } from "../config/repo-config.ts";
import { Sandbox } from "../sandbox/bubblewrap.ts";
import { type FindOptions, findSandbox } from "../sandbox/find-sandbox.ts";

/** A sandbox for the commands of a fix, and their memory limit. */
export const FixSandbox = z.strictObject({ sandbox: Sandbox, memoryMb: z.int().min(1) });
export type FixSandbox = z.infer<typeof FixSandbox>;

/** The sandbox for a fix; null if none is available or the configuration names no commands. */
export type FindFixSandbox = (
  config: Pick<RepoConfig, "commands">,
  signal: AbortSignal,
) => Promise<FixSandbox | null>;

interface FixSandboxOptions extends Omit<FindOptions, "signal"> {
  memoryMb: number;
  /** Called if there is no sandbox. */
  warn(why: string, remedy: string): void;
}

/** Finds a sandbox when the first fix needs one, and keeps it. If there is none, the next fix tries again, which takes half a second. */
export function createFixSandbox({ memoryMb, warn, ...where }: FixSandboxOptions): FindFixSandbox {
  let kept: FixSandbox | null = null;
  return async (config, signal) => {
    if (Object.keys(namedCommands(config)).length === 0) return null;
    if (kept) return kept;
    const found = await findSandbox({ ...where, signal });
    if (found.sandbox) kept = { sandbox: found.sandbox, memoryMb };
    else warn(found.why, found.remedy);
    return kept;
  };
}
