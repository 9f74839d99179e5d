import { describe, expect, it } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { errorLine } from "../../src/core/errors.ts";
import { capturedIo } from "../support/captured-io.ts";

const refusal = (...argv: string[]) => runProgram(argv, capturedIo()).then(() => "accepted", errorLine);

describe("The options of a command", () => {
  it("A command names the nearest option for an unknown one", async () => {
    expect(await refusal("review", "--bsae", "main")).toBe("unknown option '--bsae'. Did you mean --base?");
    expect(await refusal("review", "-x")).toBe("unknown option '-x'. See 'hunkwise review --help'.");
  });

  it("A command takes no option for another option's value", async () => {
    expect(await refusal("review", "--base", "--dry-run")).toBe(
      "option '--base <REF>' argument '--dry-run' is invalid. The option needs a value. See 'hunkwise review --help'.",
    );
    expect(await refusal("review", "--base")).toMatch(/^option '--base <REF>' argument missing/);
  });

  it("A command refuses an empty value, as of an unset variable", async () => {
    const empty =
      "option '--base <REF>' argument '' is invalid. It is empty: a variable may be unset. See 'hunkwise review --help'.";
    expect(await refusal("review", "--base", "")).toBe(empty);
    expect(await refusal("review", "--base=")).toBe(empty);
    expect(await refusal("review", "--format", "")).toMatch(
      /^option '--format <FORMAT>' argument '' is invalid/,
    );
  });

  it("A command names the values that are allowed", async () => {
    expect(await refusal("review", "--format", "prety")).toBe(
      "option '--format <FORMAT>' argument 'prety' is invalid. Allowed choices are pretty, json, markdown, sarif, rdjson, rdjsonl, prompt. See 'hunkwise review --help'.",
    );
    for (const number of ["0", "-1", "1.5", "1e3", "ten", "9999999999"]) {
      expect(await refusal("runs", "--limit", number)).toMatch(
        /^option '--limit <NUMBER>' argument '.*' is invalid/,
      );
    }
    expect(await refusal("graph", "words", "--k", "26")).toContain("It must be a whole number from 1 to 25.");
  });

  it("A command refuses a value for a flag, and a missing and a surplus argument", async () => {
    expect(await refusal("review", "--dry-run=yes")).toMatch(/^unknown option '--dry-run=yes'/);
    expect(await refusal("doctor", "door")).toMatch(
      /^too many arguments for 'doctor'\. Expected 0 arguments but got 1/,
    );
  });

  it("A command prints its help, whatever else is wrong", async () => {
    const io = capturedIo();
    expect(await runProgram(["review", "--nonsense", "--help"], io)).toBe(0);
    expect(io.printed()).toContain("Usage: hunkwise review [options]");
  });
});
