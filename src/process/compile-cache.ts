// As a whole: a Node too old to have these functions has to get as far as the complaint about it.
import nodeModule from "node:module";
import { join } from "node:path";

/**
 * Where Node keeps what it compiled, so that the next process loads in about half the time. It lies beside the code: it is
 * run like the code, so it must not be easier to write to. Where that folder cannot be written to, nothing is kept.
 */
export const compiledCodeFolder = join(import.meta.dirname, "../../node_modules/.cache/hunkwise");

export function keepCompiledCode(): void {
  nodeModule.enableCompileCache?.(compiledCodeFolder);
}

/** The same in the environment of a process that is started, before it loads its first file. */
export const compiledCodeVariable: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: compiledCodeFolder,
};

/** For a process that will be killed: others keep it when they end. */
export const keepCompiledCodeNow = () => nodeModule.flushCompileCache();
