import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { Severity, severities } from "../core/finding.ts";
import { checkRules, RuleSetting } from "./named-rules.ts";

/** Tried in this order; the first existing file is used. */
export const rootPaths = [".github/hunkwise.yml", ".github/hunkwise.yaml"] as const;

/** Names of a folder's file; a folder has one of them. */
export const nestedNames = [".hunkwise.yml", ".hunkwise.yaml"] as const;

export function isNestedName(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return nestedNames.some((one) => one === name);
}

/** Whether a path looks like a configuration that is never read: `hunkwise.yml` at the root, `.github/Hunkwise.yml`, `.github/.hunkwise.yml`. */
export function isNearName(path: string): boolean {
  const slash = path.lastIndexOf("/");
  const [folder, name] = [path.slice(0, Math.max(slash, 0)).toLowerCase(), path.slice(slash + 1)];
  if (name.length > 24 || !(folder === "" || folder === ".github" || name.startsWith("."))) return false;
  const stem = /^(.+)\.(?:ya?ml|jsonc?|toml)$/i.exec(name)?.[1]?.toLowerCase().replaceAll(/[._-]/g, "");
  const isTop = folder === ".github";
  const isNear = distance(stem ?? "", "hunkwise") <= (isTop ? 2 : 0);
  return isNear && (isTop || !isNestedName(path)) && !rootPaths.some((one) => one === path);
}

export const isConfigName = (path: string): boolean =>
  isNestedName(path) || isNearName(path) || rootPaths.some((one) => one === path);

/** Cost of a review: one pass; one pass and a second look; several passes and a second look. */
export const Effort = z.enum(["low", "medium", "high"]);
export type Effort = z.infer<typeof Effort>;

const commandLine = z.string().min(1).max(500);
/** A command that need not be set. */
const command = (what: string) => described(commandLine.nullable().default(null), what);
/** A key with what the documentation says about it. */
const described = <Type extends z.ZodType>(type: Type, what: string): Type => type.describe(what);

const names = (what: string) => z.array(z.string()).default([]).describe(what);
/** A switch that is off by default. */
const flag = (what: string) => z.boolean().default(false).describe(what);
const tokens = (standard: number | null, what: string) =>
  z.int().min(1_000).nullable().default(standard).describe(what);
const dollars = (what: string) => z.number().positive().nullable().default(null).describe(what);
const group = <Shape extends z.ZodRawShape>(what: string, shape: Shape) =>
  z.strictObject(shape).describe(what);

/** The keys of a repository. An organization may enforce each of them. */
const Settings = z.strictObject({
  review: group("What starts a review.", {
    enabled: described(
      z.boolean().default(true),
      "Review pull requests of this repository automatically. `/review` works either way.",
    ),
    drafts: flag("Review drafts too."),
    base_branches: names("Review only pull requests into these branches (globs). Empty: all."),
    ignore_authors: names(
      "Logins whose pull requests are not reviewed, such as `renovate[bot]`. A pull request is reviewed anyway if someone else pushed to its branch, or if the branch is in a fork.",
    ),
    labels: names(
      "Review only pull requests with one of these labels; adding one starts the review. Empty: all.",
    ),
    ignore_labels: names("Pull requests with one of these labels are not reviewed."),
    ignore_titles: names(
      "Pull requests whose title contains one of these words or phrases are not reviewed. Only whole words match; case is ignored.",
    ),
  }).prefault({}),
  paths: group("Which files are reviewed.", {
    ignore: names("gitignore-style patterns of files that are not reviewed."),
    private: names(
      "gitignore-style patterns of files that no model ever sees. No tool shows them, or their text under another name.",
    ),
  }).prefault({}),
  instructions: z
    .array(
      z.strictObject({
        path: z.string().describe("gitignore-style pattern"),
        text: z.string().max(4_000).describe("What to look for, as an instruction to the model."),
      }),
    )
    .default([])
    .describe("What to look for in files that match a pattern."),
  effort: Effort.default("medium").describe(
    "`low`: one pass. `medium`: then a second, skeptical look checks each finding. `high`: a second reader also begins with what the diff does not show, before the second look.",
  ),
  minimum_severity: Severity.default("low").describe("Findings below this severity are not reported."),
  rules: described(
    z.record(z.string().min(1).max(100), RuleSetting).superRefine(checkRules).default({}),
    "Rules by name. To switch off an analyzer rule: the key is the rule as findings name it (`secrets/github-token`, `ast-grep/py-eval`), the rule without its analyzer (`py-eval`), or an analyzer (`focused-tests`); the value is `off`, or `off:` with patterns of files. To define a rule for the model: the key is a new name, the value a definition (see below).",
  ),
  max_comments: described(
    z.int().min(0).max(100).nullable().default(null),
    "Maximum number of comments on lines and files in one review, the worst first. The summary lists the other findings. Null: 6, or 10 for a change of more than 40 hunks.",
  ),
  comment_severity: described(
    z.enum([...severities, "auto"]).default("auto"),
    "Which findings become comments; the summary lists the others. `auto`: a model chooses once, among all new findings of a review, those that the author should deal with before merging; without an answer, and with `effort: low`, it is `medium`. A severity: findings of at least that severity. `low`: every finding, even one that nothing in the repository reaches yet.",
  ),
  comments: group("What comments on findings contain.", {
    agent_prompt: flag(
      "Add a fold to each comment on a finding, with the finding and its code as a prompt for a coding agent.",
    ),
  }).prefault({}),
  language: described(
    z.string().max(40).nullable().default(null),
    "Language of comments, such as `German`. Null: English.",
  ),
  budget: group(
    "Hard limits of one review, for all its loops together unless stated otherwise. If a limit is reached, the findings so far are published.",
    {
      turns: described(
        z.int().min(1).max(500).default(60),
        "Maximum number of model turns in one loop. One loop reads one part of the change, and one loop verifies each finding.",
      ),
      tokens: described(
        z.int().min(1_000).default(2_000_000),
        "Maximum number of prompt and completion tokens for one review.",
      ),
      cost_usd: dollars("Maximum cost of one review in US dollars. Null: no limit."),
      minutes: described(
        z.number().positive().max(120).default(20),
        "Maximum duration of one review in minutes.",
      ),
      day: group(
        "Hard limits for one pull request in one day. A review may use what is left; if nothing is left, there is no review.",
        {
          tokens: tokens(
            10_000_000,
            "Maximum number of prompt and completion tokens for all reviews of one pull request in one day (UTC). Null: no limit.",
          ),
          cost_usd: dollars(
            "Maximum cost in US dollars of all reviews of one pull request in one day (UTC). Null: no limit.",
          ),
        },
      ).prefault({}),
    },
  ).prefault({}),
  findings: group("Results of other tools.", {
    workflows: z
      .array(
        z.strictObject({
          workflow: described(
            z.string().regex(/^[\w-][\w.-]{0,99}\.ya?ml$/),
            "Name of its file in `.github/workflows`, such as `lint.yml`.",
          ),
          artifact: described(
            z.string().min(1).max(200),
            "Name of the artifact that it uploads, with files in SARIF, rdjson or rdjsonl.",
          ),
        }),
      )
      .max(5)
      .default([])
      .describe(
        "Workflows whose results the App adds to a review. The App needs the permission Actions: Read-only. The Action and the command line take files instead.",
      ),
    wait_minutes: described(
      z.number().min(0).max(30).default(10),
      "Minutes for which a review that a push starts waits for these workflows. Then it continues without their results. Reviews that people ask for do not wait.",
    ),
  }).prefault({}),
  conversation: group("Which comments are answered.", {
    describe: flag(
      "Answer `/describe`: the model writes on one screen what the change does, where to start reading, its files in groups, and its risks.",
    ),
  }).prefault({}),
  check: group("The check run.", {
    threshold: described(
      z.union([Severity, z.literal("never")]).default("high"),
      "Findings of this severity or higher keep the check run from being green.",
    ),
    fail: flag(
      "Conclude with `failure` instead of `neutral` if there are findings at or above the threshold.",
    ),
    limit: described(
      z.enum(["failure", "neutral"]).optional(),
      "Conclusion if a limit or a budget leaves a change or a part of it unread. GitHub counts a required check with `neutral` as passed. If this key is `failure`, the check of a draft or an ignored title waits, and neither passes nor fails. Omitted: `failure` if `check.fail` is set, otherwise `neutral`.",
    ),
  }).prefault({}),
  commands: group(
    "Commands that a fix may run to test its repair, in a sandbox without network, if the server has a sandbox. A shell runs them; plain arguments may be added.",
    {
      test: command("Command that runs the tests, such as `npm test`."),
      lint: command("Command that checks the code, such as `ruff check .`."),
      build: command("Command that builds the project, such as `go build ./...`."),
    },
  ).prefault({}),
  prove: group("Tests that show findings.", {
    enabled: flag(
      "Let the model write a test for a finding. If the server has a sandbox, the test runs there without network, at the merge base and at the head, and the comment shows the result.",
    ),
    severity: Severity.default("medium").describe(
      "Findings below this severity get no test. The four worst findings of a review get one.",
    ),
    run: z
      .array(
        z.strictObject({
          files: z.string().min(1).max(300).describe("gitignore-style pattern of test files."),
          command: described(
            commandLine.refine((command) => command.includes("{file}"), "must contain {file}"),
            "Command that runs one test file, such as `npx vitest run {file}`. A shell runs it in the root folder.",
          ),
        }),
      )
      .max(20)
      .default([])
      .describe(
        "Commands that run one test file; the first that matches its path counts. Without a command, files in JavaScript, TypeScript, Python and Go run as they are, which is enough for code without dependencies. A command that sets `NODE_OPTIONS` or `PYTHONPATH` must keep the old value (`PYTHONPATH=src:$PYTHONPATH`), and no command may bundle the code. Otherwise Hunkwise cannot see which functions ran, and no test shows anything.",
      ),
    prepare: command(
      "Command that prepares the environment of the tests, such as `npm ci`. It runs on the files of the merge base, once for each state of its manifests and lock files. Null: none is needed.",
    ),
  }).prefault({}),
});

/** Every key that has a value, such as `budget.day.tokens`. A group, such as `budget`, is none. */
export const settingKeys: readonly string[] = valueKeys(z.toJSONSchema(Settings, { io: "input" }));

function valueKeys({ properties = {} }: { properties?: object }, path = ""): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const key = path === "" ? name : `${path}.${name}`;
    return schema.properties ? valueKeys(schema, key) : [key];
  });
}

/** The keys that can be enforced: values and groups of them. A single rule is `rules.NAME`. */
const enforceable = [
  ...new Set(
    settingKeys.flatMap((key) => {
      const parts = key.split(".");
      return parts.map((_, at) => parts.slice(0, at + 1).join("."));
    }),
  ),
];

const Policy = z.strictObject({
  enforce: z
    .array(
      z.union([
        z.enum(enforceable),
        z.string().regex(/^rules\../, "must be a key of this file, such as `check.fail`, or `rules.NAME`"),
      ]),
    )
    .default([])
    .describe(
      "Keys whose value in this file, or else the default, applies to every repository: a key (`check.fail`), a group (`check`), or one rule (`rules.NAME`). Repositories, folders and inputs of a workflow cannot change it. They can still add to `paths.private`.",
    ),
  month: group(
    "Hard limits for all repositories of the organization in one month. The Action does not count them.",
    {
      tokens: tokens(
        null,
        "Maximum number of prompt and completion tokens for all repositories together in one calendar month (UTC). Null: no limit.",
      ),
      cost_usd: dollars(
        "Maximum cost in US dollars for all repositories together in one calendar month (UTC). Null: no limit.",
      ),
    },
  ).prefault({}),
});
export type Policy = z.infer<typeof Policy>;

/** `.github/hunkwise.yml`. Contains only keys that have an effect; documentation and JSON Schema are generated from it. */
export const RepoConfig = Settings.extend({
  policy: Policy.optional().describe(
    "Only in the organization's repository `.github`: this file is then joined with the file of each repository, instead of being used only if a repository has none.",
  ),
});
export type RepoConfig = z.infer<typeof RepoConfig>;

/** Whether the organization's policy decides a key (`budget.cost_usd`), itself or with its group. */
export const isEnforced = ({ policy }: Pick<RepoConfig, "policy">, key: string): boolean =>
  policy?.enforce.some((one) => one === key || key.startsWith(`${one}.`)) === true;

/** Whether the organization's policy decides about a rule under this name, itself or with all of them. */
export const isRuleEnforced = ({ policy }: Pick<RepoConfig, "policy">, name: string): boolean =>
  policy?.enforce.some((one) => one === "rules" || one === `rules.${name}`) === true;

/** `.hunkwise.yml` in any folder except the root. Its patterns are relative to its folder. */
export const NestedConfig = z.strictObject({
  paths: group("Which files of this folder are reviewed.", {
    ignore: names(
      "gitignore-style patterns of files in this folder that are not reviewed. They are added after the patterns of the folders above.",
    ),
    private: names(
      "gitignore-style patterns of files in this folder that no model ever sees. They are added to the patterns of the folders above. An exception (`!...`) only applies to this list.",
    ),
  }).prefault({}),
  instructions: RepoConfig.shape.instructions.describe(
    "What to look for in files of this folder that match a pattern, in addition to the instructions of the folders above.",
  ),
  minimum_severity: Severity.optional().describe(
    "Findings in this folder below this severity are not reported. Omitted: as in the folder above.",
  ),
});
export type NestedConfig = z.infer<typeof NestedConfig>;

export const namedCommands = ({ commands }: Pick<RepoConfig, "commands">): Record<string, string> =>
  Object.fromEntries(
    Object.entries(commands).filter((entry): entry is [string, string] => entry[1] !== null),
  );

/** The mildest findings that are reported in a folder. */
const FolderSeverity = z.strictObject({
  /** Without a slash at either end. */
  folder: z.string(),
  minimum_severity: Severity,
});

/** Most characters of `guidance`, which every loop reads. */
export const mostGuidance = 16_000;

/** The configuration with the files of folders, whose patterns are relative to the root, and with what was asked for in one review. */
export const EffectiveConfig = RepoConfig.extend({
  paths: RepoConfig.shape.paths.unwrap().extend({
    /** gitignore-style patterns of the only files that are reviewed; omitted: all. */
    only: z.array(z.string()).optional(),
  }),
  /** What whoever started the review asks for, in addition to `instructions`. */
  guidance: z.string().max(mostGuidance).optional(),
  /** Parent folders first: the last folder that contains a file counts. */
  severity_by_path: z.array(FolderSeverity).optional(),
  /** The organization's own `rules`, which count for the rules that its policy enforces one by one. */
  organization_rules: RepoConfig.shape.rules.unwrap().optional(),
});
export type EffectiveConfig = z.infer<typeof EffectiveConfig>;

export function mildestMinimum({ minimum_severity, severity_by_path = [] }: EffectiveConfig): Severity {
  const all = [minimum_severity, ...severity_by_path.map((one) => one.minimum_severity)];
  return all.toSorted((a, b) => severities.indexOf(b) - severities.indexOf(a))[0] ?? minimum_severity;
}

export function minimumSeverityAt(config: EffectiveConfig, path: string): Severity {
  const nearest = config.severity_by_path?.findLast(({ folder }) => path.startsWith(`${folder}/`));
  return nearest?.minimum_severity ?? config.minimum_severity;
}

/** The configuration of a repository without a file. */
export const defaultRepoConfig: RepoConfig = RepoConfig.parse({});

export const repoConfigSchema = () =>
  schemaOf(RepoConfig, "Hunkwise", "How Hunkwise reviews pull requests of this repository.");

export const nestedConfigSchema = () =>
  schemaOf(NestedConfig, "Hunkwise, in a folder", "How Hunkwise reviews files of this folder.");

/** In the draft that every editor supports. */
function schemaOf(type: z.ZodType, title: string, description: string): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(type, { io: "input", target: "draft-7" });
  return { $schema, title, description, ...schema };
}
