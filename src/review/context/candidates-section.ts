import type { Candidate } from "../../analyzers/analyzer.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import type { ChangedFile } from "../../tools/tool.ts";

const MAX_CANDIDATES = 60;
const intro =
  "Rules matched these lines. They are evidence, not findings: confirm each against the code and report it with report_finding, or drop it.";

/** What the analyzers matched in these files. */
export function candidatesSection(candidates: readonly Candidate[], files: readonly ChangedFile[]): string {
  const paths = new Set(files.map(({ change }) => change.path));
  const lines = candidates
    .filter(({ path }) => paths.has(path))
    .slice(0, MAX_CANDIDATES)
    .map((one) => `${showPath(one.path)}:${one.line} ${one.title} (${one.source})`);
  if (lines.length === 0) return "";
  return `# Analyzer candidates\n${intro}\n${wrapUntrusted("analyzer candidates", lines.join("\n"))}`;
}
