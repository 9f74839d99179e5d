import { AppError } from "../errors.ts";

/** What is wrong with one variable of the environment. */
export class VariableFault extends AppError {
  readonly variable: string;

  constructor(variable: string, message: string, options: { remedy: string; cause?: unknown }) {
    super("config_invalid", message, options);
    this.variable = variable;
  }
}

export function missing(name: string, remedy: string): VariableFault {
  return new VariableFault(name, `${name} is missing`, { remedy: `${remedy}.` });
}

/** @throws AppError `config_invalid`: one line that names every fault, so that nobody mends them one start at a time. */
export function requireNone(faults: readonly VariableFault[]): void {
  const [first, ...others] = faults;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const byRemedy = Map.groupBy(faults, ({ remedy = "" }) => remedy);
  const lines = [...byRemedy].map(
    ([remedy, alike]) => `${alike.map(({ message }) => message).join("; ")}. ${remedy}`,
  );
  throw new AppError("config_invalid", lines.join(" "));
}
