import { z } from "zod";
import { AppError } from "../errors.ts";
import { Severity, severities } from "../finding.ts";
import { type Env, rawEnv, readEnv } from "./env.ts";
import { selectsNothing } from "./overrides.ts";
import { Effort, mostGuidance } from "./repo-config.ts";
import type { RawEnv } from "./variables.ts";

/** What an input of the Action means; `action.yml` has the same names with dashes. An empty input counts as unset. */
const given = <Shape extends z.ZodType>(shape: Shape) =>
  z.preprocess((value) => (value === "" ? undefined : value), shape);
const oneOf = <const Names extends readonly string[]>(names: Names) =>
  z.enum(names, `must be one of ${names.join(", ")}`);
const flag = given(
  oneOf(["true", "false"])
    .default("false")
    .transform((text) => text === "true"),
);
const number = (what: string) =>
  z
    .string()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, what)
    .transform(Number)
    .refine((one) => one > 0, what);

const Inputs = z.object({
  INPUT_GITHUB_TOKEN: z.string({ error: "is not set" }).min(1, "is empty"),
  INPUT_ORGANIZATION_TOKEN: given(z.string().optional()),
  INPUT_POLICY: given(oneOf(["optional", "required"]).default("optional")),
  INPUT_STATE_KEY: given(
    z.string().min(16, "must have at least 16 characters, such as from `openssl rand -hex 32`").optional(),
  ),
  INPUT_REVIEWS_OF: given(oneOf(["collaborators", "everyone"]).default("collaborators")),
  INPUT_REVIEW_LABEL: given(z.string().trim().max(100, "has more than 100 characters").default("hunkwise")),
  INPUT_PULL_REQUEST: given(
    z
      .string()
      .regex(/^[1-9]\d{0,8}$/, "must be the number of a pull request")
      .transform(Number)
      .optional(),
  ),
  INPUT_EFFORT: given(oneOf(Effort.options).optional()),
  INPUT_MAX_COST: given(number("must be an amount in US dollars, such as 0.50").optional()),
  INPUT_MAX_TOKENS: given(
    z
      .string()
      .regex(/^\d{4,12}$/, "must be a whole number from 1000")
      .default("2000000")
      .transform(Number),
  ),
  INPUT_MINIMUM_SEVERITY: given(oneOf(Severity.options).optional()),
  INPUT_FAIL_ON: given(oneOf([...severities, "never"]).default("never")),
  INPUT_PATHS: given(
    z
      .string()
      .default("")
      .transform(lines)
      .refine(
        (patterns) => !selectsNothing(patterns),
        "selects no file: a pattern with ! only takes files away",
      ),
  ),
  INPUT_FINDINGS: given(z.string().default("").transform(lines)),
  INPUT_INSTRUCTIONS: given(
    z.string().max(mostGuidance, `has more than ${mostGuidance} characters`).default(""),
  ),
  INPUT_REQUIRE_MODEL: flag,
});

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** The variables that a runner sets (https://docs.github.com/actions/reference/workflows-and-actions/variables). */
const Runner = z.object({
  GITHUB_EVENT_NAME: z.string().min(1),
  GITHUB_EVENT_PATH: z.string().min(1),
  GITHUB_REPOSITORY: z.string().regex(/^[\w.-]{1,100}\/[\w.-]{1,100}$/),
  GITHUB_REPOSITORY_ID: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
  GITHUB_API_URL: z.url(),
  GITHUB_SERVER_URL: z.url(),
  GITHUB_OUTPUT: z.string().min(1),
  GITHUB_STEP_SUMMARY: z.string().min(1),
  RUNNER_TEMP: z.string().min(1),
});

/** A run of the Action: its inputs, the job that it runs in, and the general settings. */
export interface ActionEnv {
  inputs: {
    /** Of the job, or of an App. */
    token: string;
    /** Reads the organisation's repository `.github`. */
    organizationToken: string;
    /** Whether no model reads anything without a policy of the organisation. */
    requiresPolicy: boolean;
    /** Signs our texts where other workflows write under the same name; null: nothing of earlier runs counts. */
    stateKey: string | null;
    reviewsOf: "collaborators" | "everyone";
    reviewLabel: string;
    /** Null: the event names the pull request. */
    pull: number | null;
    effort: Effort | null;
    /** US dollars. */
    maxCost: number | null;
    /** Prompt and completion tokens of one review. */
    maxTokens: number;
    minimumSeverity: Severity | null;
    failOn: Severity | "never";
    /** gitignore-style patterns; empty: all files. */
    paths: readonly string[];
    /** Files with results of other tools, in the workspace. */
    findings: readonly string[];
    instructions: string;
    requireModel: boolean;
  };
  event: { name: string; file: string };
  repository: { id: number; owner: string; name: string };
  outputFile: string;
  summaryFile: string;
  tempFolder: string;
  /** The folder of the repository on the runner; null if the runner names none. */
  workspace: string | null;
  env: Env;
}

/**
 * The environment of a step that runs the Action.
 * @throws AppError `config_invalid` with all faults in one line; `usage` outside of GitHub Actions.
 */
export function readActionEnv(raw: RawEnv = rawEnv()): ActionEnv {
  const runner = Runner.safeParse(raw);
  if (!runner.success) {
    const names = runner.error.issues.map(({ path }) => path.join("."));
    throw new AppError(
      "usage",
      `This is not a step of GitHub Actions: ${names.join(", ")} ${names.length === 1 ? "is" : "are"} missing or invalid`,
      {
        remedy: "Use `hunkwise review` on the command line",
      },
    );
  }
  const read = Inputs.safeParse(raw);
  if (!read.success) {
    const faults = read.error.issues.map(({ path, message }) => `${inputName(String(path[0]))} ${message}`);
    throw new AppError("config_invalid", `Inputs of the Action: ${faults.join("; ")}`, {
      remedy: "docs/action.md lists the inputs",
    });
  }
  const [r, i] = [runner.data, read.data];
  const [owner = "", name = ""] = r.GITHUB_REPOSITORY.split("/");
  return {
    inputs: {
      token: i.INPUT_GITHUB_TOKEN,
      organizationToken: i.INPUT_ORGANIZATION_TOKEN ?? i.INPUT_GITHUB_TOKEN,
      requiresPolicy: i.INPUT_POLICY === "required",
      stateKey: i.INPUT_STATE_KEY ?? null,
      reviewsOf: i.INPUT_REVIEWS_OF,
      reviewLabel: i.INPUT_REVIEW_LABEL,
      pull: i.INPUT_PULL_REQUEST ?? null,
      effort: i.INPUT_EFFORT ?? null,
      maxCost: i.INPUT_MAX_COST ?? null,
      maxTokens: i.INPUT_MAX_TOKENS,
      minimumSeverity: i.INPUT_MINIMUM_SEVERITY ?? null,
      failOn: i.INPUT_FAIL_ON,
      paths: i.INPUT_PATHS,
      findings: i.INPUT_FINDINGS,
      instructions: i.INPUT_INSTRUCTIONS,
      requireModel: i.INPUT_REQUIRE_MODEL,
    },
    event: { name: r.GITHUB_EVENT_NAME, file: r.GITHUB_EVENT_PATH },
    repository: { id: r.GITHUB_REPOSITORY_ID, owner, name },
    outputFile: r.GITHUB_OUTPUT,
    summaryFile: r.GITHUB_STEP_SUMMARY,
    tempFolder: r.RUNNER_TEMP,
    workspace: raw.GITHUB_WORKSPACE?.trim() || null,
    env: { ...readEnv(settings(raw)), github: placeOf(r) },
  };
}

const inputName = (variable: string) => variable.replace("INPUT_", "").toLowerCase().replaceAll("_", "-");

/** The general variables. An unset input arrives as an empty variable; a job's `DATABASE_URL` or `PORT` is for its own programs. */
function settings(raw: RawEnv): RawEnv {
  const wanted =
    /^(?:HUNKWISE_|OPENAI_|AZURE_OPENAI_|ANTHROPIC_(?:API_KEY|BASE_URL)$|LOG_LEVEL$|HTTPS?_PROXY$|NO_PROXY$|NODE_EXTRA_CA_CERTS$)/i;
  return Object.fromEntries(
    Object.entries(raw).filter(([name, value]) => wanted.test(name) && (value ?? "").trim() !== ""),
  );
}

/** Addresses of the GitHub that runs the job, an Enterprise Server too. */
function placeOf(runner: z.infer<typeof Runner>): Env["github"] {
  const withoutSlash = (address: string) => address.replace(/\/+$/, "");
  const web = new URL(runner.GITHUB_SERVER_URL);
  return {
    host: web.host,
    protocol: web.protocol === "http:" ? "http" : "https",
    apiUrl: withoutSlash(runner.GITHUB_API_URL),
    webUrl: withoutSlash(runner.GITHUB_SERVER_URL),
  };
}
