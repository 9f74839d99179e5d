import { z } from "zod";
import { AppError } from "../core/errors.ts";
import { Severity, severities } from "../core/finding.ts";
import { type Env, rawEnv, readEnv } from "./env.ts";
import { selectsNothing } from "./overrides.ts";
import { Effort, mostGuidance } from "./repo-config.ts";
import type { RawEnv } from "./variables.ts";

/** An input's value; an empty one counts as unset. */
const given = <Shape extends z.ZodType>(shape: Shape) =>
  z.preprocess((value) => (value === "" ? undefined : value), shape);
const oneOf = <const Names extends readonly string[]>(names: Names) =>
  z.enum(names, `must be one of ${names.join(", ")}`);
/** Null if it is unset. */
const optional = <Shape extends z.ZodType>(shape: Shape) => given(shape.nullable().default(null));
/** A line break in it would stand in the error of each request. */
const token = z
  .string({ error: "is not set" })
  .trim()
  .min(1, "is empty")
  .regex(/^[!-~]*$/, "must be only the token, without spaces or line breaks");
const number = (what: string) =>
  z
    .string()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, what)
    .transform(Number)
    .refine((one) => one > 0, what);

/** The inputs of the Action; `action.yml` has the same names with dashes. */
const Inputs = z.object({
  /** Of the job, or of an App. */
  githubToken: token,
  /** Reads the organization's repository `.github`; null: the other one does. */
  organizationToken: optional(token),
  /** required: no model reads anything without a policy of the organization. */
  policy: given(oneOf(["optional", "required"]).default("optional")),
  /** Signs our texts where other workflows write under the same name; null: nothing of earlier runs counts. */
  stateKey: optional(
    z.string().min(16, "must have at least 16 characters, such as from `openssl rand -hex 32`"),
  ),
  reviewsOf: given(oneOf(["collaborators", "everyone"]).default("collaborators")),
  reviewLabel: given(z.string().trim().max(100, "has more than 100 characters").default("hunkwise")),
  /** Null: the event names the pull request. */
  pullRequest: optional(
    z
      .string()
      .regex(/^[1-9]\d{0,8}$/, "must be the number of a pull request")
      .transform(Number),
  ),
  effort: optional(oneOf(Effort.options)),
  /** US dollars. */
  maxCost: optional(number("must be an amount in US dollars, such as 0.50")),
  /** Prompt and completion tokens of one review. */
  maxTokens: given(
    z
      .string()
      .regex(/^\d{4,12}$/, "must be a whole number from 1000")
      .default("2000000")
      .transform(Number),
  ),
  minimumSeverity: optional(oneOf(Severity.options)),
  failOn: given(oneOf([...severities, "never"]).default("never")),
  paths: given(
    z
      .string()
      .default("")
      .transform(lines)
      .refine(
        (patterns) => !selectsNothing(patterns),
        "selects no file: a pattern with ! only takes files away",
      ),
  ),
  /** Files with results of other tools, in the workspace. */
  findings: given(z.string().default("").transform(lines)),
  instructions: given(z.string().max(mostGuidance, `has more than ${mostGuidance} characters`).default("")),
  requireModel: given(
    oneOf(["true", "false"])
      .default("false")
      .transform((text) => text === "true"),
  ),
});

/** "max-cost", as `action.yml` spells `maxCost`. */
const inputName = (key: string) => key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The variable of each input: INPUT_MAX_COST for `maxCost`. */
export const inputVariables: ReadonlyMap<string, string> = new Map(
  Object.keys(Inputs.shape).map((key) => [key, `INPUT_${inputName(key).replaceAll("-", "_").toUpperCase()}`]),
);

const inputsIn = (raw: RawEnv) =>
  Object.fromEntries([...inputVariables].map(([key, variable]) => [key, raw[variable]]));

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
  inputs: z.infer<typeof Inputs>;
  event: { name: string; file: string };
  repository: { id: number; owner: string; name: string };
  outputFile: string;
  summaryFile: string;
  tempFolder: string;
  /** The folder of the repository on the runner; null if the runner names none. */
  workspace: string | null;
  env: Env;
}

/** The environment of a step that runs the Action. Throws `config_invalid` with all faults in one line, `usage` outside of GitHub Actions. */
export function readActionEnv(raw: RawEnv = rawEnv()): ActionEnv {
  const runner = Runner.safeParse(raw);
  if (!runner.success) {
    const names = runner.error.issues.map(({ path }) => path.join("."));
    throw new AppError(
      "usage",
      `This is not a step of GitHub Actions: ${names.join(", ")} ${names.length === 1 ? "is" : "are"} missing or invalid`,
      { remedy: "Use `hunkwise review` on the command line" },
    );
  }
  const inputs = Inputs.safeParse(inputsIn(raw));
  if (!inputs.success) {
    const faults = inputs.error.issues.map(({ path, message }) => `${inputName(String(path[0]))} ${message}`);
    throw new AppError("config_invalid", `Inputs of the Action: ${faults.join("; ")}`, {
      remedy: "docs/action.md lists the inputs",
    });
  }
  const r = runner.data;
  const [owner = "", name = ""] = r.GITHUB_REPOSITORY.split("/");
  return {
    inputs: inputs.data,
    event: { name: r.GITHUB_EVENT_NAME, file: r.GITHUB_EVENT_PATH },
    repository: { id: r.GITHUB_REPOSITORY_ID, owner, name },
    outputFile: r.GITHUB_OUTPUT,
    summaryFile: r.GITHUB_STEP_SUMMARY,
    tempFolder: r.RUNNER_TEMP,
    workspace: raw.GITHUB_WORKSPACE?.trim() || null,
    env: { ...readEnv(settings(raw)), github: placeOf(r) },
  };
}

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
