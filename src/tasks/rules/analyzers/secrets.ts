import type { FoundSecret } from "../../../core/secrets/forms.ts";
import { formsInWhole } from "../../../core/secrets/redact.ts";
import { isExample, isTestFile } from "../../../repo/code/test-file.ts";
import { type AnalyzedFile, type Analyzer, type Diagnostic, lineAt, lineEnds } from "./analyzer.ts";

/**
 * Finds secrets that include an added line. The whole text is searched, because a change may insert the body of a key between old lines. The
 * text of a secret never becomes part of a finding.
 *
 * One with the form of its issuer is certain; of any other value that only a name makes a secret, a model or a person decides.
 */
export const secretsAnalyzer: Analyzer = {
  name: "secrets",
  readsEvery: true,
  async analyze(file) {
    if (file.addedLines.size === 0) return [];
    const { text } = file;
    const ends = lineEnds(text);
    const isSample = isTestFile(file.path) || isExample(file.path);
    const found = (await formsInWhole(text)).flatMap((secret) => {
      const extent = { start: lineAt(ends, secret.start), end: lineAt(ends, secret.end - 1) };
      const line = addedLineIn(extent, file);
      return line === undefined ? [] : [{ ...toDiagnostic(file.path, secret, line, isSample), extent }];
    });
    return onePerLine(found);
  },
};

function addedLineIn({ start, end }: { start: number; end: number }, { addedLines }: AnalyzedFile) {
  for (let line = start; line <= end; line++) if (addedLines.has(line)) return line;
  return undefined;
}

/** One secret can fit several forms: the first one counts, and one that is certain. */
function onePerLine(found: readonly Diagnostic[]): Diagnostic[] {
  const likely = found.filter(({ source }) => source === LIKELY);
  const all = [...found.filter(({ source }) => source !== LIKELY), ...likely];
  return [...Map.groupBy(all, ({ line }) => line).values()].flatMap(([first]) => first ?? []);
}

const LIKELY = "secret-values/assigned";

const article = (kind: string) => (/^(?:[aeioAEIO]|npm|xAI|NVIDIA)/.test(kind) ? "An" : "A");

function toDiagnostic(
  path: string,
  { kind, isIssued }: FoundSecret,
  line: number,
  isSample: boolean,
): Diagnostic {
  const what = `${article(kind)} ${kind}`;
  const title = isIssued ? `${what} is in this file` : `${what} may be in this file`;
  const grave = isIssued ? "critical" : "high";
  return {
    path,
    line,
    severity: isSample ? "medium" : grave,
    category: "security",
    title,
    body: `${what} is on this line. Once it is pushed, everyone who can read the repository, a fork or a clone of it can use it, even after a later commit removes it, because the history keeps it.\n\nRevoke it where it was issued if it was pushed, and read the new one from the environment or a secret store. If it is a made-up example, use a value that no one can mistake for a real one.`,
    source: isIssued ? `secrets/${kind.toLowerCase().replaceAll(/[^a-z\d]+/g, "-")}` : LIKELY,
  };
}
