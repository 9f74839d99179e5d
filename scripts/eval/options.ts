import { parseArgs } from "node:util";
import { Effort } from "../../src/config/repo-config.ts";
import { AppError, errorLine } from "../../src/core/errors.ts";

export interface EvalOptions {
  cases: string;
  repos: string | null;
  only: string[];
  effort: Effort | null;
  /** Name of the judging model; null: the reviewing model. */
  judge: string | null;
  isJudged: boolean;
  output: string | null;
  concurrency: number;
  format: "pretty" | "json";
}

export interface ContextOptions {
  cases: string;
  repos: string | null;
  only: string[];
  /** File with additional lines that cases need. */
  needed: string | null;
  /** File with judgements on shown callers. */
  callers: string | null;
  /** Folder of the graph indexes; null: no graphs. */
  graphs: string | null;
  output: string | null;
  /** Minimum number of complete cases; null: informational. */
  atLeast: number | null;
}

export const evalUsage = `Usage: npm run eval -- --cases PLACE [OPTIONS]

Reviews a folder of cases with the configured model and compares what is found with what is known.

  --cases PLACE       a folder with a folder for each case, each with a case.json and a known.json;
                      or the published files of Martian's Code Review Bench or of AACR-Bench
  --repos DIR         repositories of the cases: NAME (prepared) or owner+name (bare clone)
  --only NAME,...     only these cases
  --effort EFFORT     low, medium or high; without it as each repository's configuration says
  --judge MODEL       model that compares findings with known issues and says what the others are worth;
                      without it the reviewing one
  --no-judge          compare only places, which flatters
  --output FILE       results as they come, one JSON object a line; what is there is not run again
  --concurrency N     cases at a time (default: 2)
  --format FORMAT     pretty or json (default: pretty)

Exit code: 0 done, 2 a case has no result, or nothing could be run. Formats and figures: docs/quality.md
`;

export const contextUsage = `Usage: npm run eval:context -- --cases PLACE [OPTIONS]

Tells for each case whether the lines that one has to see are in the first message of its review. Asks no model.

  --cases PLACE       a folder with a folder for each case, each with a case.json and a known.json;
                      or the published files of AACR-Bench
  --repos DIR         repositories of the cases: NAME (prepared) or owner+name (bare clone)
  --graphs DIR        indexes of the repositories' graphs, made where they are missing; without, reviews have none
  --only NAME,...     these cases alone
  --needed FILE       JSON with more lines that cases need: {"NAME": [{"file", "lines", "at"}]}
  --callers FILE      JSON that says which shown callers use what changed: {"NAME": [{"file", "line", "name", "uses"}]}
  --output FILE.md    the table as Markdown, without a line of the cases' code
  --at-least N        exit 1 when fewer cases than that show everything

Exit code: 0 done, 1 fewer than --at-least, 2 nothing could be measured. Formats and figures: docs/quality.md
`;

const shared = {
  cases: { type: "string" },
  repos: { type: "string" },
  only: { type: "string" },
  output: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

/** Null if help was requested. Throws `usage`. */
export function parseEvalOptions(argv: readonly string[]): EvalOptions | null {
  const options = {
    ...shared,
    effort: { type: "string" },
    judge: { type: "string" },
    "no-judge": { type: "boolean" },
    concurrency: { type: "string", default: "2" },
    format: { type: "string", default: "pretty" },
  } as const;
  const values = withUsage(() => parseArgs({ args: [...argv], options }).values);
  if (values.help) return null;
  const effort = values.effort === undefined ? null : Effort.safeParse(values.effort);
  if (effort?.success === false)
    throw usage(`--effort cannot be '${values.effort}', only ${Effort.options.join(", ")}`);
  const { format } = values;
  if (format !== "pretty" && format !== "json")
    throw usage(`--format cannot be '${format}', only pretty, json`);
  if (values["no-judge"] && values.judge !== undefined)
    throw usage("--judge and --no-judge exclude each other");
  return {
    ...commonOf(values),
    effort: effort?.data ?? null,
    judge: values.judge ?? null,
    isJudged: !values["no-judge"],
    concurrency: countOf("--concurrency", values.concurrency),
    format,
  };
}

/** Null if help was requested. Throws `usage`. */
export function parseContextOptions(argv: readonly string[]): ContextOptions | null {
  const options = {
    ...shared,
    needed: { type: "string" },
    callers: { type: "string" },
    graphs: { type: "string" },
    "at-least": { type: "string" },
  } as const;
  const values = withUsage(() => parseArgs({ args: [...argv], options }).values);
  if (values.help) return null;
  const atLeast = values["at-least"];
  return {
    ...commonOf(values),
    needed: values.needed ?? null,
    callers: values.callers ?? null,
    graphs: values.graphs ?? null,
    atLeast: atLeast === undefined ? null : countOf("--at-least", atLeast),
  };
}

interface CommonValues {
  cases?: string | undefined;
  repos?: string | undefined;
  only?: string | undefined;
  output?: string | undefined;
}

function commonOf({ cases, repos, only, output }: CommonValues) {
  if (cases === undefined) throw usage("--cases is missing");
  const names = (only ?? "").split(",").filter((name) => name !== "");
  return { cases, repos: repos ?? null, only: names, output: output ?? null };
}

function countOf(option: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw usage(`${option} needs a whole number from 1, not '${text}'`);
  return Number(text);
}

function withUsage<Values>(parse: () => Values): Values {
  try {
    return parse();
  } catch (error) {
    throw usage(errorLine(error));
  }
}

const usage = (message: string) =>
  new AppError("usage", message.replace(/\.$/, ""), { remedy: "See --help." });
