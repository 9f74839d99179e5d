/**
 * Runs every analyzer over folders of sources, as if a change had added each file, and prints the findings: one line per finding, then the
 * number of findings per rule and per 10,000 lines of its language.
 *
 *     node scripts/measure-precision.ts FOLDER... [--json FILE]
 *
 * `--json` writes the findings without the text of their lines, in the format of `fixtures/analyzers/precision.json`.
 */
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { isWorthParsing } from "../src/repo/code/parse.ts";
import { allAnalyzers, analyzeFile } from "../src/tasks/rules/analyzers/analyze-change.ts";
import type { AnalyzedFile } from "../src/tasks/rules/analyzers/analyzer.ts";
import { ruleGrammarOf } from "../src/tasks/rules/analyzers/rule-file.ts";

interface Measured {
  folder: string;
  path: string;
  line: number;
  rule: string;
}

/** Reviewers do not see build output and copies of other packages. */
const leftOut = /(?:^|\/)(?:node_modules|\.git)\/|\.min\.[cm]?js$|\.(?:map|lock|class|png|woff2?)$/;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "string" } },
});
const analyzers = allAnalyzers;
const lines = new Map<string, number>();
const findings: Array<Measured & { text: string }> = [];
const { signal } = new AbortController();

for (const folder of positionals) {
  for (const path of await sourcesOf(folder)) await measure(folder, path);
}
report();
if (values.json) await writeFile(values.json, `${JSON.stringify(findings.map(withoutText), null, 2)}\n`);

async function sourcesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !leftOut.test(path))
    .sort();
}

async function measure(folder: string, path: string): Promise<void> {
  const full = join(folder, path);
  if ((await stat(full)).size > 1_000_000) return;
  const text = await readFile(full, "utf8");
  const language = ruleGrammarOf(path)?.language ?? "other";
  if (text.includes("\0") || (language !== "other" && !isWorthParsing(text))) return;
  const rows = text.split("\n");
  lines.set(language, (lines.get(language) ?? 0) + rows.length);
  const onCrash = (analyzer: string, _: string, error: unknown) => console.error(analyzer, full, error);
  const { diagnostics } = await analyzeFile(asAdded(path, text), { signal, analyzers, onCrash });
  for (const one of diagnostics) {
    const row = rows[one.line - 1]?.trim() ?? "";
    findings.push({ folder: resolve(folder), path, line: one.line, rule: one.source, text: row });
  }
}

function asAdded(path: string, text: string): AnalyzedFile {
  const addedLines = new Set(text.split("\n").map((_, index) => index + 1));
  return { path, text, addedLines, diff: { path, oldPath: null, header: [], hunks: [] } };
}

function report(): void {
  for (const one of findings) {
    const shown = one.rule.startsWith("secrets/") ? "(redacted)" : one.text.slice(0, 140);
    console.log(`${one.rule}\t${join(one.folder, one.path)}:${one.line}\t${shown}`);
  }
  const byRule = Map.groupBy(findings, (one) => one.rule);
  console.log("\nFindings for each rule");
  for (const [rule, of] of [...byRule].sort()) console.log(`${String(of.length).padStart(6)}  ${rule}`);
  console.log("\nFindings for 10,000 lines");
  for (const [language, count] of [...lines].sort()) {
    const own = findings.filter((one) => (ruleGrammarOf(one.path)?.language ?? "other") === language).length;
    console.log(
      `${language.padEnd(12)}${count} lines, ${own} findings, ${((own / count) * 10_000).toFixed(2)}`,
    );
  }
}

function withoutText({ folder, path, line, rule }: Measured) {
  return { package: folder.split("/").at(-1), path, line, rule };
}
