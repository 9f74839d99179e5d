// Imported as a whole: a Node without these functions must still reach the error message about its version.
import nodeModule from "node:module";
import { join } from "node:path";

/** Node's compile cache halves the time to load. It lies next to the code, because it is executed and must not be easier to write to. */
export const compiledCodeFolder = join(import.meta.dirname, "../../node_modules/.cache/hunkwise");

export function keepCompiledCode(): void {
  nodeModule.enableCompileCache?.(compiledCodeFolder);
}

/** Turns the cache on in a child process before it loads its first file. */
export const compiledCodeVariable: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: compiledCodeFolder,
};

/** Writes the cache now, in a process that will be killed. Others write it when they exit. */
export const keepCompiledCodeNow = () => nodeModule.flushCompileCache();
