import { join } from "node:path";
import type { Analyzer } from "./analyzer.ts";
import { createAstGrepAnalyzer } from "./ast-grep.ts";
import { createBrokenDataAnalyzer } from "./broken-data.ts";
import { createDebuggerLeftoversAnalyzer } from "./debugger-leftovers.ts";
import { createFocusedTestsAnalyzer } from "./focused-tests.ts";
import { createMergeMarkersAnalyzer } from "./merge-markers.ts";
import { createSecretsAnalyzer } from "./secrets.ts";

/** `rules/` lies beside `src/` and, in the package, beside `dist/`. */
export const rulesFolder = join(import.meta.dirname, "../../rules");

/** Every analyzer, the cheap ones first. Each keeps what it loaded: make them once a process. */
export function createAnalyzers(): Analyzer[] {
  return [
    createMergeMarkersAnalyzer(),
    createDebuggerLeftoversAnalyzer(),
    createFocusedTestsAnalyzer(),
    createBrokenDataAnalyzer(),
    createSecretsAnalyzer(),
    createAstGrepAnalyzer(rulesFolder),
  ];
}
