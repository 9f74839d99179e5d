import type { SourceLines } from "../reporters/code-frame.ts";
import type { RangeNames } from "../reporters/terminal.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { withoutSecrets } from "../secrets/redact.ts";

export const formats = ["pretty", "json", "markdown", "sarif"] as const;
export type Format = (typeof formats)[number];

export interface RenderOptions {
  range: RangeNames;
  source: SourceLines;
  colour: boolean;
  width: number;
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
  switch (format) {
    case "pretty":
      return (await import("../reporters/terminal.ts")).renderTerminal(result, options);
    case "json":
      return (await import("../reporters/json.ts")).renderJson(result);
    case "markdown":
      return (await import("../reporters/markdown.ts")).renderMarkdown(result, options.source);
    case "sarif": {
      const { programVersion } = await import("./version.ts");
      return (await import("../reporters/sarif.ts")).renderSarif(result, programVersion());
    }
  }
}
