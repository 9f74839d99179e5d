import { enableCompileCache, flushCompileCache } from "node:module";
import { join } from "node:path";

/**
 * Lets Node keep what it compiled, so that the next process loads in about half the time. It lies beside the code: it is
 * run like the code, so it must not be easier to write to. Where that folder cannot be written to, nothing is kept.
 */
export function keepCompiledCode(): void {
  enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/hunkwise"));
}

/** For a process that will be killed: others keep it when they end. */
export const keepCompiledCodeNow = flushCompileCache;
