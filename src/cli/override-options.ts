import { open } from "node:fs/promises";
import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { type LocalEnv, modelsOf } from "../config/env.ts";
import { type Overrides, selectsNothing } from "../config/overrides.ts";
import { Effort, mostGuidance, type RepoConfig } from "../config/repo-config.ts";
import { AppError, errorLine } from "../core/errors.ts";
import { severities } from "../core/finding.ts";
import { type changeCommand, optionText, repeatedText } from "./command.ts";
import { beginningOf } from "./output.ts";

/** Rejects `--model` beside `--no-model`, and so on: they set one value, and the last one would win. */
function refuseBoth(command: Pick<CommandUnknownOpts, "on">, option: string): void {
  const given = new Set<string>();
  for (const name of [option, `no-${option}`]) {
    command.on(`option:${name}`, () => {
      if (given.add(name).size === 1) return;
      throw new AppError("usage", `--${option} and --no-${option} exclude each other`, {
        remedy: "Leave out one of them.",
      });
    });
  }
}

/** Adds the options that override the environment and the repository's configuration for one run. */
export const withOverrideOptions = (command: ReturnType<typeof changeCommand>) => {
  refuseBoth(command, "model");
  refuseBoth(command, "prove");
  return command
    .optionsGroup("Options for this run, before the environment and the configuration:")
    .addOption(new Option("--effort <EFFORT>", "how much work a review is").choices(Effort.options))
    .option("--model <NAME>", "the model, instead of HUNKWISE_MODEL", optionText)
    .option("--no-model", "use only the built-in analyzers, even if a model is configured")
    .addOption(
      new Option(
        "--minimum-severity <SEVERITY>",
        "report no finding below this severity, in no folder",
      ).choices(severities),
    )
    .option(
      "--max-cost <USD>",
      "stop when the review has cost this much; the findings so far are reported",
      positiveAmount,
    )
    .option(
      "--only <GLOB>",
      "review only files that match this gitignore-style pattern; can be repeated",
      repeatedText,
    )
    .option(
      "--instructions <FILE>",
      "what to look for, in addition to the configured instructions",
      optionText,
    )
    .option(
      "--prove",
      "let the model write a test for each finding of `prove.severity` or higher, and run it in a sandbox at the merge base and at " +
        "the head; commands for it come from the base's configuration (docs/reviews.md)",
    )
    .option("--no-prove", "write no tests, even if the configuration enables it")
    .option("--config <FILE>", "a configuration instead of .github/hunkwise.yml from the base", optionText)
    .optionsGroup("");
};

/** Their values, among those of the command's other options. */
type OverrideValues = ReturnType<ReturnType<typeof withOverrideOptions>["opts"]>;

function positiveAmount(value: string): number {
  const amount = /^\d{1,9}(\.\d{1,6})?$/.test(optionText(value)) ? Number(value) : 0;
  if (amount > 0) return amount;
  throw new InvalidArgumentError("It must be an amount in US dollars above 0, such as 0.50.");
}

/** The overrides of the configuration. Reads the file of instructions. */
export async function overridesOf(values: OverrideValues): Promise<Overrides> {
  const { effort, minimumSeverity, maxCost: maxCostUsd, only = [], instructions, prove } = values;
  if (selectsNothing(only)) {
    const why = `--only ${only.join(" --only ")} selects no file: a pattern with ! only takes files away`;
    const remedy = `Add what it takes them away from: --only '**' --only '${only[0]}'.`;
    throw new AppError("usage", why, { remedy });
  }
  const guidance = instructions === undefined ? undefined : await readGuidance(instructions);
  return { effort, minimumSeverity, maxCostUsd, only, guidance, prove };
}

/** The configuration of `--config`; undefined without the option. */
export async function givenConfig({ config: file }: OverrideValues): Promise<RepoConfig | undefined> {
  if (file === undefined) return undefined;
  const { parseGivenConfig } = await import("../config/load-config.ts");
  return parseGivenConfig(file, await readBeginning(file, "--config", 1_000_000));
}

async function readGuidance(file: string): Promise<string> {
  // A character takes up to four bytes.
  const text = await readBeginning(file, "--instructions", 4 * mostGuidance + 4);
  const why =
    text.length > mostGuidance
      ? `it has more than ${mostGuidance} characters`
      : /[\0\ufffd]/.test(text)
        ? "it is not UTF-8 text"
        : null;
  if (why === null) return text;
  throw new AppError("usage", `the file of --instructions, '${file}', cannot be used: ${why}`, {
    remedy: "Every part of a review reads it, so name a short text file.",
  });
}

async function readBeginning(file: string, option: string, mostBytes: number): Promise<string> {
  try {
    await using handle = await open(file, "r");
    return (await beginningOf(handle, mostBytes)).toString("utf8");
  } catch (error) {
    throw new AppError("usage", `the file of ${option} cannot be read: ${errorLine(error)}`, {
      remedy: "Name a file that exists and that you can read.",
      cause: error,
    });
  }
}

/** Rejects with `usage` if the price of a model is not known that may be asked: its cost could not be limited. */
export async function requirePrices(
  { maxCost }: Pick<OverrideValues, "maxCost">,
  { model, pricesFile }: Pick<LocalEnv, "model" | "pricesFile">,
): Promise<void> {
  if (maxCost === undefined || model === null) return;
  const { priceOf, readPrices } = await import("../agent/llm/prices.ts");
  const { readPricesFile } = await import("./create-model.ts");
  const prices = readPrices(await readPricesFile(pricesFile));
  const asked = new Set(modelsOf(model).map(({ name }) => name));
  const unknown = [...asked].filter((one) => priceOf(one, prices) === null);
  if (unknown.length === 0) return;
  const why = `The maximum cost cannot be kept: the price of ${unknown.join(" and ")} is not known`;
  throw new AppError("usage", why, {
    remedy:
      "Name its price in a JSON file, and the file in HUNKWISE_PRICES (docs/models.md), or limit tokens with budget.tokens in the configuration.",
  });
}
