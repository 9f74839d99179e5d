import { extensionOf } from "../code/languages.ts";
import { isExample, isTestFile } from "../code/test-file.ts";
import { isMadeUpAddress, type LintMatch, lintSecrets, loadSecretlint } from "../secrets/secretlint.ts";
import { type AnalyzedFile, type Analyzer, type Diagnostic, lineAt, lineEnds } from "./analyzer.ts";

interface Secret {
  what: string;
  /** Kinds that tests, examples and documentation often contain as made-up values. */
  expectedInSamples?: true;
  /** Kinds that often contain made-up passwords, which are not secrets. */
  mayBePlaceholder?: true;
}

/** Names of the credentials that secretlint's rules find; for any other rule, "A credential". */
const secrets: Record<string, Secret> = {
  aws: { what: "An AWS secret access key" },
  gcp: { what: "A Google Cloud service account key", expectedInSamples: true },
  privatekey: { what: "A private key", expectedInSamples: true },
  npm: { what: "An npm access token" },
  basicauth: { what: "A URL with a password", expectedInSamples: true, mayBePlaceholder: true },
  "database-connection-string": {
    what: "A database address with a password",
    expectedInSamples: true,
    mayBePlaceholder: true,
  },
  slack: { what: "A Slack token" },
  github: { what: "A GitHub token" },
  gitlab: { what: "A GitLab token" },
  openai: { what: "An OpenAI key" },
  anthropic: { what: "An Anthropic key" },
  stripe: { what: "A Stripe key" },
  sendgrid: { what: "A SendGrid key" },
  shopify: { what: "A Shopify key" },
};

/**
 * Finds credentials that include an added line. The whole text is searched, because a change may insert the body of a key between old
 * lines. The text of a secret never becomes part of a finding.
 */
export function createSecretsAnalyzer(): Analyzer {
  return {
    name: "secrets",
    prepare: loadSecretlint,
    async analyze(file) {
      if (file.addedLines.size === 0 || extensionOf(file.path) === "p12") return [];
      const { text } = file;
      const messages = await lintSecrets(text, extensionOf(file.path));
      const isSample = isTestFile(file.path) || isExample(file.path);
      const found = messages.filter(({ rule, start, end }) => {
        const secret = secrets[rule];
        if (isSample && secret?.expectedInSamples) return false;
        return !(secret?.mayBePlaceholder && isMadeUpAddress(text.slice(start, end)));
      });
      const ends = lineEnds(text);
      return onePerLine(
        found.flatMap((match) => {
          const extent = extentOf(text, match, ends);
          const line = addedLineIn(extent, file);
          return line === undefined ? [] : [{ ...toDiagnostic(file, match.rule, line), extent }];
        }),
      );
    },
  };
}

/** The lines of a credential. A cloud key file is found as a whole: its line is the one with the key. */
function extentOf(text: string, { rule, start, end }: LintMatch, ends: ReturnType<typeof lineEnds>) {
  const key = rule === "gcp" ? text.search(/"private_key"\s*:/) : -1;
  const [first, last] = key < 0 ? [start, end - 1] : [key, key];
  return { start: lineAt(ends, first), end: lineAt(ends, last) };
}

/** The first line of a credential that the change added. */
function addedLineIn({ start, end }: { start: number; end: number }, { addedLines }: AnalyzedFile) {
  for (let line = start; line <= end; line++) if (addedLines.has(line)) return line;
  return undefined;
}

/** One credential can fit several rules. */
function onePerLine(candidates: Diagnostic[]): Diagnostic[] {
  return [...new Map(candidates.toReversed().map((one) => [one.line, one])).values()].reverse();
}

function toDiagnostic(file: AnalyzedFile, rule: string, line: number): Diagnostic {
  const what = secrets[rule]?.what ?? "A credential";
  return {
    path: file.path,
    line,
    startLine: null,
    severity: "critical",
    category: "security",
    title: `${what} is in this file`,
    body: `${what} is on this line. Once it is pushed, everyone who can read the repository, a fork or a clone of it can use it, even after a later commit removes it, because the history keeps it.\n\nRevoke it where it was issued if it was pushed, and read the new one from the environment or a secret store. If it is a made-up example, use a value that no one can mistake for a real one.`,
    suggestion: null,
    source: `secrets/${rule}`,
  };
}
