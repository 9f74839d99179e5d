import type { Candidate } from "../../analyzers/analyzer.ts";
import { isUndisputed } from "../../finding.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import type { ChangedFile } from "../../tools/tool.ts";

const MAX_CANDIDATES = 60;
const intro =
  "Rules matched these lines. They are evidence, not findings: confirm each against the code and report it with report_finding, or drop it.";

const told = "These are reported already, whatever you make of them; do not report them again.";

/** What the analyzers matched in these files. */
export function candidatesSection(candidates: readonly Candidate[], files: readonly ChangedFile[]): string {
  const paths = new Set(files.map(({ change }) => change.path));
  const here = candidates.filter(({ path }) => paths.has(path)).slice(0, MAX_CANDIDATES);
  const disputed = listed(here.filter((one) => !isUndisputed(one)));
  const reported = listed(here.filter(isUndisputed));
  const parts = [
    ...(disputed === "" ? [] : [intro, wrapUntrusted("analyzer candidates", disputed)]),
    ...(reported === "" ? [] : [told, wrapUntrusted("reported by analyzers", reported)]),
  ];
  return parts.length === 0 ? "" : ["# Analyzer candidates", ...parts].join("\n");
}

const listed = (candidates: readonly Candidate[]) =>
  candidates.map((one) => `${showPath(one.path)}:${one.line} ${one.title} (${one.source})`).join("\n");
