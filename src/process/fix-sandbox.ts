import { z } from "zod";
import { namedCommands, type RepoConfig } from "../config/repo-config.ts";
import { Sandbox } from "../sandbox/bubblewrap.ts";
import { type FindOptions, findSandbox } from "../sandbox/find-sandbox.ts";

/** A sandbox for the commands of a fix, with the memory that they may take. */
export const FixSandbox = z.strictObject({ sandbox: Sandbox, memoryMb: z.int().min(1) });
export type FixSandbox = z.infer<typeof FixSandbox>;

/** The sandbox for a fix under this configuration; null where there is none, or nothing that could be run. */
export type FindFixSandbox = (
  config: Pick<RepoConfig, "commands">,
  signal: AbortSignal,
) => Promise<FixSandbox | null>;

export interface FixSandboxOptions extends Omit<FindOptions, "signal"> {
  memoryMb: number;
  /** Told in words why there is none, and what to do about it. */
  warn(why: string, remedy: string): void;
}

/** Looks for a sandbox when the first fix needs one, and keeps it. Where there is none the next fix looks again: it takes half a second. */
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
