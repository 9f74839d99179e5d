import type { SourceLines } from "../reporters/code-frame.ts";
import type { ReviewJson } from "../reporters/json.ts";
import type { RangeNames } from "../reporters/terminal.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { programVersion } from "./version.ts";

export const formats = ["pretty", "json", "markdown", "sarif"] as const;
export type Format = (typeof formats)[number];

const endings: readonly (readonly [ending: string, format: Format])[] = [
  [".sarif", "sarif"],
  [".sarif.json", "sarif"],
  [".json", "json"],
  [".md", "markdown"],
  [".markdown", "markdown"],
];

/** The format that the name of a file stands for; null if it stands for none. */
export function formatOfName(file: string): Format | null {
  return endings.find(([ending]) => file.toLowerCase().endsWith(ending))?.[1] ?? null;
}

export interface RenderOptions {
  range: RangeNames;
  source: SourceLines;
  colour: boolean;
  /** Of prose. */
  width: number;
  /** Of code, on a terminal; left out, code is cut nowhere. */
  codeWidth?: number | undefined;
  /** How the command ends; left out where none does. */
  exit?: ReviewJson["exit"] | undefined;
}

/** The result as text without secrets, also of the code around a finding: reports end up in logs of builds. */
export async function renderResult(
  format: Format,
  result: ReviewResult,
  options: RenderOptions,
): Promise<string> {
  return withoutSecrets(await rendered(format, result, options));
}

/** Only the reporter that is asked for is loaded. */
async function rendered(format: Format, result: ReviewResult, options: RenderOptions): Promise<string> {
  const version = programVersion();
  switch (format) {
    case "pretty":
      return (await import("../reporters/terminal.ts")).renderTerminal(result, options);
    case "json":
      return (await import("../reporters/json.ts")).renderJson(result, {
        version,
        exit: options.exit ?? null,
      });
    case "markdown":
      return (await import("../reporters/markdown.ts")).renderMarkdown(result, options.source);
    case "sarif":
      return (await import("../reporters/sarif.ts")).renderSarif(result, version);
  }
}
