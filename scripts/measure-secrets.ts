/**
 * Measures the search for secrets on the test inputs of gitleaks and secretlint, which are not part of this repository:
 * `node scripts/measure-secrets.ts GITLEAKS SECRETLINT`, with a checkout of each, or a folder that does not exist yet and that it clones. Needs
 * Go, because gitleaks makes its inputs at random when its rules are generated. docs/analyzers.md has the figures.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issuedKinds, secretFormsIn } from "../src/core/secrets/forms.ts";

interface Input {
  rule: string;
  text: string;
  isSecret: boolean;
}

const [gitleaks = "", secretlint = ""] = process.argv.slice(2);
if (gitleaks === "" || secretlint === "")
  throw new Error(
    "Name the folders of gitleaks and secretlint: node scripts/measure-secrets.ts GITLEAKS SECRETLINT",
  );
for (const [folder, repository] of [
  [gitleaks, "gitleaks/gitleaks"],
  [secretlint, "secretlint/secretlint"],
] as const)
  if (!existsSync(folder))
    execFileSync("git", ["clone", "--quiet", "--depth=1", `https://github.com/${repository}`, folder]);

/** In place of the check that each rule finds its inputs: prints them. */
const printing = `package utils
import ("encoding/json"; "os"; "github.com/zricethezav/gitleaks/v8/config")
func print(r config.Rule, yes []string, no []string) *config.Rule {
	line, _ := json.Marshal(map[string]any{"rule": r.RuleID, "yes": yes, "no": no})
	os.Stdout.Write(append(line, 10))
	return &r
}
func Validate(r config.Rule, yes []string, no []string) *config.Rule { return print(r, yes, no) }
func values(of map[string]string) []string { all := []string{}; for _, v := range of { all = append(all, v) }; return all }
func ValidateWithPaths(r config.Rule, yes map[string]string, no map[string]string) *config.Rule { return print(r, values(yes), values(no)) }
`;

function inputsOfGitleaks(): Input[] {
  const copy = mkdtempSync(join(tmpdir(), "gitleaks-"));
  try {
    cpSync(gitleaks, copy, { recursive: true });
    writeFileSync(join(copy, "cmd/generate/config/utils/validate.go"), printing);
    const run = { cwd: join(copy, "cmd/generate/config"), encoding: "utf8", maxBuffer: 1e9 } as const;
    const lines = execFileSync("go", ["run", ".", join(copy, "generated.toml")], run).split("\n");
    return lines
      .filter((line) => line.startsWith("{"))
      .flatMap((line) => {
        const { rule, yes, no }: { rule: string; yes: string[] | null; no: string[] | null } =
          JSON.parse(line);
        const of = (texts: string[] | null, isSecret: boolean) =>
          (texts ?? []).map((text) => ({ rule: `gitleaks/${rule}`, text, isSecret }));
        return [...of(yes, true), ...of(no, false)];
      });
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function inputsOfSecretlint(): Input[] {
  const packages = join(secretlint, "packages/@secretlint");
  const inputs: Input[] = [];
  for (const name of readdirSync(packages)) {
    const cases = join(packages, name, "test/snapshots");
    if (!name.startsWith("secretlint-rule-") || !existsSync(cases)) continue;
    for (const one of readdirSync(cases)) {
      const input = readdirSync(join(cases, one)).find((file) => file.startsWith("input"));
      if (input === undefined) continue;
      const text = readFileSync(join(cases, one, input), "utf8");
      const { messages }: { messages: unknown[] } = JSON.parse(
        readFileSync(join(cases, one, "output.json"), "utf8"),
      );
      inputs.push({ rule: `secretlint/${name.slice(16)}`, text, isSecret: messages.length > 0 });
    }
  }
  return inputs;
}

/** Whether the table has a form of the issuer that a rule is named after. */
const kinds = issuedKinds.map((kind) => kind.toLowerCase().replaceAll(/[^a-z\d]/g, "")).join(" ");
const isInTable = (rule: string) => kinds.includes(rule.replace(/^\w+\//, "").split("-")[0] ?? "");

const share = (some: readonly Input[], of: (input: Input) => boolean) =>
  `${some.filter(of).length} of ${some.length} (${((100 * some.filter(of).length) / some.length).toFixed(1)} %)`;
const isCertain = ({ text }: Input) => secretFormsIn(text).some(({ isIssued }) => isIssued);
const isFound = ({ text }: Input) => secretFormsIn(text).length > 0;

for (const [name, inputs] of [
  ["gitleaks", inputsOfGitleaks()],
  ["secretlint", inputsOfSecretlint()],
] as const) {
  const positive = inputs.filter(({ isSecret }) => isSecret);
  const known = positive.filter(({ rule }) => isInTable(rule));
  const negative = inputs.filter(({ isSecret }) => !isSecret);
  process.stdout.write(`${name}: secrets with a form in the table: found ${share(known, isFound)}, certain ${share(known, isCertain)}
${name}: all secrets: found ${share(positive, isFound)}, certain ${share(positive, isCertain)}
${name}: no secrets: found ${share(negative, isFound)}, certain ${share(negative, isCertain)}
`);
}
