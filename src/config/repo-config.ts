import { z } from "zod";
import { Severity, severities } from "../finding.ts";

/** Tried in this order; the first existing file is used. */
export const rootPaths = [".github/hunkwise.yml", ".github/hunkwise.yaml"] as const;

/** Names of a folder's file; a folder has one of them. */
export const nestedNames = [".hunkwise.yml", ".hunkwise.yaml"] as const;

/** Whether a path has the name of a folder's file. */
export function isNestedName(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return nestedNames.some((one) => one === name);
}

/** Cost of a review: one pass; one pass and a second look; several passes and a second look. */
export const Effort = z.enum(["low", "medium", "high"]);
export type Effort = z.infer<typeof Effort>;

/** Whether one rule is off: everywhere, or in files that match a pattern. */
const RuleSwitch = z.union([
  z.literal("off"),
  z.strictObject({ off: z.array(z.string().min(1)).min(1).describe("gitignore-style patterns") }),
]);

const commandLine = z.string().min(1).max(500).nullable().default(null);

/** `.github/hunkwise.yml`. Contains only keys that have an effect; documentation and JSON Schema are generated from it. */
export const RepoConfig = z.strictObject({
  review: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe("Review pull requests of this repository by themselves; `/review` works either way."),
      drafts: z.boolean().default(false).describe("Review drafts too."),
      base_branches: z
        .array(z.string())
        .default([])
        .describe("Review only pull requests into these branches (globs). Empty: all."),
      ignore_authors: z
        .array(z.string())
        .default([])
        .describe(
          "Logins whose pull requests are not reviewed, e.g. `renovate[bot]`. A pull request is reviewed anyway if somebody else pushed to its branch, or if the branch is in a fork.",
        ),
      labels: z
        .array(z.string())
        .default([])
        .describe(
          "Review only pull requests with one of these labels; adding one starts the review. Empty: all.",
        ),
      ignore_labels: z
        .array(z.string())
        .default([])
        .describe("Pull requests with one of these labels are not reviewed."),
      ignore_titles: z
        .array(z.string())
        .default([])
        .describe(
          "Pull requests whose title contains one of these words or phrases, as whole words in any case, are not reviewed.",
        ),
    })
    .prefault({})
    .describe("What starts a review."),
  paths: z
    .strictObject({
      ignore: z
        .array(z.string())
        .default([])
        .describe("gitignore-style patterns of files that are not reviewed."),
      private: z
        .array(z.string())
        .default([])
        .describe(
          "gitignore-style patterns of files that no model ever sees, through no tool, nor their text under another name.",
        ),
    })
    .prefault({})
    .describe("Which files take part."),
  instructions: z
    .array(
      z.strictObject({
        path: z.string().describe("gitignore-style pattern"),
        text: z.string().max(4_000).describe("What to look for, in words for the model."),
      }),
    )
    .default([])
    .describe("What to look for in files that match a pattern."),
  effort: Effort.default("medium").describe(
    "`low`: one pass. `medium`: each finding is then checked by a second, sceptical look. `high`: several passes that look for different kinds of faults, then the second look.",
  ),
  minimum_severity: Severity.default("low").describe("Milder findings are not reported."),
  rules: z
    .record(z.string().min(1).max(100), RuleSwitch)
    .default({})
    .describe(
      "Rules of the analyzers that are switched off. The key is a rule as findings name it (`secrets/github`, `ast-grep/py-eval`), the same without its analyzer (`py-eval`), or an analyzer (`focused-tests`). The value is `off`, or `off:` with patterns of the files in which the rule is off.",
    ),
  max_comments: z
    .int()
    .min(0)
    .max(100)
    .default(40)
    .describe("Inline comments a review; the rest goes to the summary."),
  language: z
    .string()
    .max(40)
    .nullable()
    .default(null)
    .describe("Language of comments, e.g. `German`. Null: English."),
  budget: z
    .strictObject({
      turns: z
        .int()
        .min(1)
        .max(500)
        .default(60)
        .describe(
          "Model turns of one loop: a part of the change is read in one, and each finding is checked in one.",
        ),
      tokens: z.int().min(1_000).default(2_000_000).describe("Prompt and completion tokens a review."),
      cost_usd: z
        .number()
        .positive()
        .nullable()
        .default(null)
        .describe("US dollars a review. Null: no limit."),
      minutes: z.number().positive().max(120).default(20).describe("Wall time a review."),
      day: z
        .strictObject({
          tokens: z
            .int()
            .min(1_000)
            .nullable()
            .default(10_000_000)
            .describe(
              "Prompt and completion tokens of all reviews of one pull request on one day (UTC). Null: no limit.",
            ),
          cost_usd: z
            .number()
            .positive()
            .nullable()
            .default(null)
            .describe("US dollars of all reviews of one pull request on one day (UTC). Null: no limit."),
        })
        .prefault({})
        .describe(
          "Hard limits of a pull request and day; a review gets what is left, and none where nothing is.",
        ),
    })
    .prefault({})
    .describe(
      "Hard limits of one review, all its loops together unless said otherwise; what was found until then is published.",
    ),
  conversation: z
    .strictObject({
      answers: z
        .enum(["author", "writers", "nobody"])
        .default("author")
        .describe(
          "Whose questions in the threads of findings are answered. `author`: those of people with write access and of the pull request's author. `writers`: those of people with write access. `nobody`: none. `/ask` works either way.",
        ),
    })
    .prefault({})
    .describe("What is answered without a command."),
  check: z
    .strictObject({
      threshold: z
        .union([Severity, z.literal("never")])
        .default("high")
        .describe("Findings as severe as this keep the check run from being green."),
      fail: z.boolean().default(false).describe("Conclude `failure` instead of `neutral` at the threshold."),
      limit: z
        .enum(["failure", "neutral"])
        .optional()
        .describe(
          "Conclusion if a limit or a budget leaves a change or a part of it unread. GitHub takes `neutral` for passed if the check is required. Left out: `failure` if `check.fail` is set, otherwise `neutral`.",
        ),
    })
    .prefault({})
    .describe("The check run."),
  commands: z
    .strictObject({
      test: commandLine.describe("How tests are run, e.g. `npm test`."),
      lint: commandLine.describe("How the code is checked, e.g. `ruff check .`."),
      build: commandLine.describe("How it is built, e.g. `go build ./...`."),
    })
    .prefault({})
    .describe(
      "What a fix may run to try itself out, in a sandbox without network, where the server has one. A shell takes them; plain arguments may follow.",
    ),
});
export type RepoConfig = z.infer<typeof RepoConfig>;

/** `.hunkwise.yml` in any folder except the root. Its patterns are relative to its folder. */
export const NestedConfig = z.strictObject({
  paths: z
    .strictObject({
      ignore: z
        .array(z.string())
        .default([])
        .describe(
          "gitignore-style patterns of files of this folder that are not reviewed, behind those of the folders above.",
        ),
      private: z
        .array(z.string())
        .default([])
        .describe(
          "gitignore-style patterns of files of this folder that no model ever sees. They add to those of the folders above; an exception (`!...`) is one from this list alone.",
        ),
    })
    .prefault({})
    .describe("Which files of this folder take part."),
  instructions: RepoConfig.shape.instructions.describe(
    "What to look for in files of this folder that match a pattern, beside what the folders above ask for.",
  ),
  minimum_severity: Severity.optional().describe(
    "Milder findings in this folder are not reported. Left out: as in the folder above.",
  ),
});
export type NestedConfig = z.infer<typeof NestedConfig>;

/** The commands that are configured, by name. */
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

/** The configuration after the files of folders are merged into that of the repository, with patterns relative to the root. */
export const EffectiveConfig = RepoConfig.extend({
  /** Parent folders first: the last folder that contains a file counts. */
  severity_by_path: z.array(FolderSeverity).optional(),
});
export type EffectiveConfig = z.infer<typeof EffectiveConfig>;

/** The lowest severity that is reported anywhere. */
export function mildestMinimum({ minimum_severity, severity_by_path = [] }: EffectiveConfig): Severity {
  const all = [minimum_severity, ...severity_by_path.map((one) => one.minimum_severity)];
  return all.toSorted((a, b) => severities.indexOf(b) - severities.indexOf(a))[0] ?? minimum_severity;
}

/** The lowest severity that is reported for a file. */
export function minimumSeverityAt(config: EffectiveConfig, path: string): Severity {
  const nearest = config.severity_by_path?.findLast(({ folder }) => path.startsWith(`${folder}/`));
  return nearest?.minimum_severity ?? config.minimum_severity;
}

/** The configuration of a repository without a file. */
export const defaultRepoConfig: RepoConfig = RepoConfig.parse({});

/** The JSON Schema of `.github/hunkwise.yml`, for editors. */
export const repoConfigSchema = () =>
  schemaOf(RepoConfig, "Hunkwise", "How Hunkwise reviews pull requests of this repository.");

/** The JSON Schema of `.hunkwise.yml` in a folder. */
export const nestedConfigSchema = () =>
  schemaOf(NestedConfig, "Hunkwise, in a folder", "How Hunkwise reviews files of this folder.");

/** In the draft that every editor supports. */
function schemaOf(type: z.ZodType, title: string, description: string): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(type, { io: "input", target: "draft-7" });
  return { $schema, title, description, ...schema };
}
