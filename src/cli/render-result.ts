import { AppError } from "../core/errors.ts";
import type { Finding, Side } from "../core/finding.ts";
import { redactLines, withoutSecrets } from "../core/secrets/redact.ts";
import { splitLines } from "../core/text/cut.ts";
import type { Workspace } from "../repo/git/workspace.ts";
import type { SourceLines } from "../report/code-frame.ts";
import type { ReviewJson } from "../report/json.ts";
import type { TerminalOptions } from "../report/terminal.ts";
import type { ReviewResult } from "../tasks/shapes/review-result.ts";
import { programVersion } from "./output.ts";

export const formats = ["pretty", "json", "markdown", "sarif", "rdjson", "rdjsonl", "prompt"] as const;
export type Format = (typeof formats)[number];

/** The format for a file name by its ending; null for an unknown one. */
export function formatOfName(file: string): Format | null {
  const [, ending] = /\.(sarif(?=\.json$|$)|rdjsonl?$|json$|md$|markdown$)/i.exec(file) ?? [];
  const name = ending?.toLowerCase() === "md" ? "markdown" : ending?.toLowerCase();
  return formats.find((format) => format === name) ?? null;
}

export interface RenderOptions extends TerminalOptions {
  /** The exit of the command, for `--format json`. */
  exit?: ReviewJson["exit"] | undefined;
  /** For `--format sarif`: tells this analysis of the commit apart from others. */
  category?: string | undefined;
}

/** The result as text without secrets, also of the code around a finding: reports end up in logs of builds. */
export async function renderResult(
  format: Format,
  result: ReviewResult,
  options: RenderOptions,
): Promise<string> {
  return withoutSecrets(await rendered(format, result, options));
}

/** Loads only the requested reporter. */
async function rendered(format: Format, result: ReviewResult, options: RenderOptions): Promise<string> {
  const version = programVersion();
  switch (format) {
    case "pretty":
      return (await import("../report/terminal.ts")).renderTerminal(result, options);
    case "json":
      return (await import("../report/json.ts")).renderJson(result, { version, exit: options.exit ?? null });
    case "markdown":
      return (await import("../report/markdown.ts")).renderMarkdown(result, options.source, options.range);
    case "sarif":
      return (await import("../report/sarif.ts")).renderSarif(result, {
        version,
        category: options.category,
      });
    case "rdjson":
      return (await import("../report/rdjson.ts")).renderRdjson(result);
    case "rdjsonl":
      return (await import("../report/rdjson.ts")).renderRdjsonl(result);
    case "prompt": {
      const { renderPrompt } = await import("../report/prompt.ts");
      return renderPrompt(result, options.source, options.range.uncommitted);
    }
  }
}

/** Reads the files of findings for a reporter. Redacts whole files, because a single line of a key is not recognizable as a secret. */
export async function loadSources(workspace: Workspace, findings: readonly Finding[]): Promise<SourceLines> {
  const key = (path: string, side: Side) => `${side}:${path}`;
  const wanted = new Map(findings.map(({ path, side }) => [key(path, side), { path, side }]));
  const loaded = new Map<string, readonly string[] | null>();
  for (const [name, { path, side }] of wanted) loaded.set(name, await readLines(workspace, path, side));
  return (path, side) => loaded.get(key(path, side)) ?? null;
}

async function readLines(workspace: Workspace, path: string, side: Side): Promise<string[] | null> {
  const tree = await workspace.tree(side === "RIGHT" ? "head" : "merge_base");
  const entry = tree.get(side === "RIGHT" ? path : await pathBefore(workspace, path));
  if (!entry) return null;
  try {
    const { text, binary } = await workspace.readBlob(entry.oid);
    return binary ? null : splitLines(await redactLines(text));
  } catch (error) {
    // A report without a frame is better than none.
    if (error instanceof AppError && error.code === "too_large") return null;
    throw error;
  }
}

async function pathBefore(workspace: Workspace, path: string): Promise<string> {
  const change = (await workspace.changes()).find((one) => one.path === path);
  return change?.oldPath ?? path;
}
