import { isMadeUpAddress, type LintMatch, lintSecrets, loadSecretlint } from "../secrets/secretlint.ts";
import { extensionOf } from "../syntax/grammars.ts";
import type { AnalyzedFile, Analyzer, Candidate } from "./analyzer.ts";
import { lineAt, lineEnds } from "./line-ends.ts";
import { isExample, isTestFile } from "./test-file.ts";

interface Secret {
  what: string;
  /** Kinds that tests, examples and documentation hold by the dozen, made up for them. */
  expectedInSamples?: true;
  /** Kinds that are often written with made-up passwords, which are no secret. */
  mayBePlaceholder?: true;
}

/** What secretlint's rules look for, in words; any other rule is "A credential". */
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

/** Finds credentials in added lines. Their text never becomes part of a finding. */
export function createSecretsAnalyzer(): Analyzer {
  return {
    name: "secrets",
    prepare: loadSecretlint,
    async analyze(file) {
      if (file.addedLines.size === 0 || extensionOf(file.path) === "p12") return [];
      const content = onlyAddedLines(file);
      const messages = await lintSecrets(content, extensionOf(file.path));
      const isSample = isTestFile(file.path) || isExample(file.path);
      const found = messages.filter(({ rule, start, end }) => {
        const secret = secrets[rule];
        if (isSample && secret?.expectedInSamples) return false;
        return !(secret?.mayBePlaceholder && isMadeUpAddress(content.slice(start, end)));
      });
      const ends = lineEnds(content);
      return onePerLine(
        found.map((match) => toCandidate(file, match.rule, lineAt(ends, placeOf(content, match)))),
      );
    },
  };
}

/** The text with every line that the change did not add emptied, so that places stay what they are. */
function onlyAddedLines(file: AnalyzedFile): string {
  const keep = (line: string, index: number) => (file.addedLines.has(index + 1) ? line : "");
  return file.text.split("\n").map(keep).join("\n");
}

/** A cloud's key file is found as a whole: its line is the one that holds the key. */
function placeOf(content: string, { rule, start }: LintMatch): number {
  return rule === "gcp" ? content.search(/"private_key"\s*:/) : start;
}

/** One credential can fit several rules. */
function onePerLine(candidates: Candidate[]): Candidate[] {
  return [...new Map(candidates.toReversed().map((one) => [one.line, one])).values()].reverse();
}

function toCandidate(file: AnalyzedFile, rule: string, line: number): Candidate {
  const what = secrets[rule]?.what ?? "A credential";
  return {
    path: file.path,
    line,
    startLine: null,
    severity: "critical",
    category: "security",
    title: `${what} is committed`,
    body: `${what} stands on this line. Whoever can read the repository, a fork or a clone of it can use it, also after a later commit removes it, because the history keeps it.\n\nRevoke it where it was issued, then read the new one from the environment or a secret store. If it was made up for an example, write something that cannot be taken for a real one.`,
    suggestion: null,
    source: `secrets/${rule}`,
  };
}
