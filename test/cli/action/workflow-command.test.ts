import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { command } from "../../../src/cli/action/report.ts";

/** Reads a command as the runner does: actions/runner, ActionCommand.TryParseV2. */
function asRunner(line: string) {
  const end = line.indexOf("::", 2);
  const [name = "", ...rest] = line.slice(2, end).split(" ");
  const undo = (text: string) =>
    text
      .replaceAll("%2C", ",")
      .replaceAll("%3A", ":")
      .replaceAll("%0A", "\n")
      .replaceAll("%0D", "\r")
      .replaceAll("%25", "%");
  const properties = rest
    .join(" ")
    .split(",")
    .map((pair) => pair.split("="));
  return {
    name,
    properties: Object.fromEntries(properties.map(([key, ...value]) => [key, undo(value.join("="))])),
    message: undo(line.slice(end + 2)),
  };
}

describe("A workflow command", () => {
  it("A workflow command keeps every text in its place, on one line", () => {
    const hostile = fc.array(
      fc.constantFrom("::", "%", "%0A", "\n", "\r", ",", "=", ":", " ", "a", "##[", "title"),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(hostile, hostile, (title, message) => {
        const [given, said] = [title.join(""), message.join("")];
        const line = command("error", { file: "a.ts", title: given }, said);
        expect(line).not.toMatch(/[\r\n]/);
        expect(asRunner(line)).toEqual({
          name: "error",
          properties: { file: "a.ts", title: given },
          message: said,
        });
      }),
    );
  });

  it("A workflow command shows no secret", () => {
    const key = `sk-proj-${"aB3dE6gH9jK2mN5pQ8sT".repeat(2)}`;
    expect(command("error", { title: `Key ${key}` }, `It is ${key}`)).not.toContain(key);
  });
});
