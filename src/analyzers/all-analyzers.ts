import { join } from "node:path";
import type { Analyzer } from "./analyzer.ts";
import { createAstGrepAnalyzer } from "./ast-grep.ts";
import { createBrokenDataAnalyzer } from "./broken-data.ts";
import { createDebuggerLeftoversAnalyzer } from "./debugger-leftovers.ts";
import { createFocusedTestsAnalyzer } from "./focused-tests.ts";
import { createHiddenCharactersAnalyzer } from "./hidden-characters.ts";
import { createHidingAttributesAnalyzer } from "./hiding-attributes.ts";
import { createMergeMarkersAnalyzer } from "./merge-markers.ts";
import { createMovedIntoEffectAnalyzer } from "./moved-into-effect.ts";
import { loadRules } from "./rule-file.ts";
import { createSecretsAnalyzer } from "./secrets.ts";

/** `rules/` lies beside `src/` and, in the package, beside `dist/`. */
export const rulesFolder = join(import.meta.dirname, "../../rules");

let shared: Analyzer[] | undefined;

/** The analyzers of this process, each with what it has loaded so far. */
export function sharedAnalyzers(): readonly Analyzer[] {
  shared ??= createAnalyzers();
  return shared;
}

/** Uses the time in which a process waits for its work. What cannot be loaded says so when it is needed. */
export async function prepareAnalyzers(): Promise<void> {
  await Promise.allSettled(sharedAnalyzers().map((analyzer) => analyzer.prepare?.()));
}

/** Every analyzer, the cheap ones first. Each keeps what it loaded. */
export function createAnalyzers(): Analyzer[] {
  return [
    createMergeMarkersAnalyzer(),
    createHiddenCharactersAnalyzer(),
    createHidingAttributesAnalyzer(),
    createMovedIntoEffectAnalyzer(),
    createDebuggerLeftoversAnalyzer(),
    createFocusedTestsAnalyzer(),
    createBrokenDataAnalyzer(),
    createSecretsAnalyzer(),
    createAstGrepAnalyzer((language) => loadRules(rulesFolder, language)),
  ];
}
