import { parseArgs } from "node:util";
import { AppError } from "../errors.ts";
import type { Command, OptionSpec, OptionSpecs, ValuesOf } from "./command.ts";
import { didYouMean } from "./nearest.ts";

export type Parsed<Options extends OptionSpecs> =
  | { help: true }
  | { help: false; values: ValuesOf<Options>; positionals: string[] };

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
type OptionToken = Extract<Token, { kind: "option" }>;

function usage(command: string, message: string, remedy = ""): AppError {
  return new AppError("usage", message, { remedy: remedy || `See 'hunkwise ${command} --help'.` });
}

function stringValue(command: string, token: OptionToken, spec: OptionSpec): string {
  const { rawName, value, inlineValue } = token;
  // Without this, `--repo --base main` would take "--base" for a folder.
  if (value === undefined || (!inlineValue && value.length > 1 && value.startsWith("-"))) {
    throw usage(command, `${rawName} needs a value`);
  }
  if (value === "") throw new AppError("usage", `${rawName} is empty; is the variable set?`);
  if (spec.type === "string" && spec.choices && !spec.choices.includes(value)) {
    throw usage(
      command,
      `${rawName} cannot be '${value}', only ${spec.choices.join(", ")}`,
      didYouMean(value, spec.choices),
    );
  }
  return value;
}

function optionValue(command: string, token: OptionToken, specs: OptionSpecs): string | boolean {
  const spec = specs[token.name];
  if (!spec) {
    const known = [...Object.keys(specs), "help"];
    throw usage(
      command,
      `unknown option '${token.rawName}'`,
      didYouMean(token.name, known, (one) => `--${one}`),
    );
  }
  if (spec.type === "string") return stringValue(command, token, spec);
  if (token.value !== undefined) throw usage(command, `${token.rawName} takes no value`);
  return true;
}

function checkPositionals(name: string, command: Command, positionals: readonly string[]): void {
  const missing = command.positionals.filter((one) => one.required)[positionals.length];
  if (missing) throw usage(name, `${missing.name} is missing`);
  const surplus = positionals[command.positionals.length];
  if (surplus !== undefined) throw usage(name, `unexpected argument '${surplus}'`);
}

/**
 * Parses the arguments after the command's name. Rejects with `usage` and one line: what is wrong and, when it is near
 * something known, what was probably meant.
 */
export function parseCommand<Options extends OptionSpecs>(
  name: string,
  command: Command<Options>,
  argv: readonly string[],
): Parsed<Options> {
  const specs: OptionSpecs = command.options;
  const types = Object.entries(specs).map(([option, spec]) => [option, { type: spec.type }] as const);
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options: { ...Object.fromEntries(types), help: { type: "boolean", short: "h" } },
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const options = tokens.filter((token) => token.kind === "option");
  if (options.some((token) => token.name === "help")) return { help: true };
  const values: Record<string, string | boolean | undefined> = {};
  for (const [option, spec] of Object.entries(specs)) {
    values[option] = spec.type === "boolean" ? false : spec.default;
  }
  for (const token of options) values[token.name] = optionValue(name, token, specs);
  checkPositionals(name, command as unknown as Command, positionals);
  // The loop above gave every declared option a value of its declared type.
  return { help: false, values: values as ValuesOf<Options>, positionals };
}
