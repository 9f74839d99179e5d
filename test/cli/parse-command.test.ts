import { describe, expect, it } from "vitest";
import { defineCommand } from "../../src/cli/command.ts";
import { parseCommand } from "../../src/cli/parse-command.ts";
import { AppError, errorLine } from "../../src/errors.ts";

const paint = defineCommand({
  positionals: [{ name: "FILE", description: "what to paint", required: true }],
  options: {
    colour: {
      type: "string",
      value: "NAME",
      description: "with what",
      choices: ["red", "blue"],
      default: "red",
    },
    brush: { type: "string", value: "SIZE", description: "how wide" },
    quick: { type: "boolean", description: "in a hurry" },
  },
  notes: [],
  examples: [],
  run: async () => 0,
});

const parse = (...argv: string[]) => parseCommand("paint", paint, argv);
function complaint(...argv: string[]): string {
  try {
    parse(...argv);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    return errorLine(error);
  }
  return "parsed";
}

describe("parsing a command's arguments", () => {
  it("gives every option a value", () => {
    expect(parse("wall")).toEqual({
      help: false,
      values: { colour: "red", brush: undefined, quick: false },
      positionals: ["wall"],
    });
  });

  it("takes options anywhere, with = and with a space, the last one counting", () => {
    expect(parse("--quick", "--brush=-3", "wall", "--colour", "red", "--colour", "blue")).toEqual({
      help: false,
      values: { colour: "blue", brush: "-3", quick: true },
      positionals: ["wall"],
    });
  });

  it("asks for help whatever else is wrong", () => {
    expect(parse("--nonsense", "--help")).toEqual({ help: true });
    expect(parse("-h")).toEqual({ help: true });
  });

  it("names the nearest option for an unknown one", () => {
    expect(complaint("wall", "--color", "red")).toBe("unknown option '--color'. Did you mean '--colour'?");
    expect(complaint("wall", "-x")).toBe("unknown option '-x'. See 'hunkwise paint --help'.");
  });

  it("does not take an option for another option's value", () => {
    expect(complaint("wall", "--brush", "--quick")).toBe(
      "--brush needs a value. See 'hunkwise paint --help'.",
    );
    expect(complaint("wall", "--brush")).toMatch(/^--brush needs a value/);
  });

  it("refuses an option that is empty, as of an unset variable", () => {
    expect(complaint("wall", "--brush", "")).toBe("--brush is empty; is the variable set?");
    expect(complaint("wall", "--brush=")).toBe("--brush is empty; is the variable set?");
    expect(complaint("wall", "--colour", "")).toBe("--colour is empty; is the variable set?");
  });

  it("names the values that are allowed", () => {
    expect(complaint("wall", "--colour", "bleu")).toBe(
      "--colour cannot be 'bleu', only red, blue. Did you mean 'blue'?",
    );
  });

  it("refuses a value for a flag, a missing and a surplus argument", () => {
    expect(complaint("wall", "--quick=yes")).toMatch(/^--quick takes no value/);
    expect(complaint()).toMatch(/^FILE is missing/);
    expect(complaint("wall", "door")).toMatch(/^unexpected argument 'door'/);
  });
});
