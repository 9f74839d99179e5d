import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finish, numbers, patient, turn } from "../e2e/conformance-fixture.ts";
import { type SharedApp, startSharedApp } from "../e2e/shared-app.ts";

/*
 * git treats a file with a NUL in its first 8,000 bytes as binary, and no diff shows it.
 */

let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({ everyRole: () => turn(finish) });
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
});

describe("a file that git calls binary", patient, () => {
  it.each([
    ["with a NUL in a comment of letters beyond ASCII", `/*\0${"é".repeat(4_100)}*/\nevil();\n`],
    ["with a NUL in a comment of control characters", `/*\0${"\u0001".repeat(7_000)}*/\nevil();\n`],
  ])("text-as-binary: A file %s is not passed unread", async (_, text) => {
    const of = shared.addRepository({
      "a.js": numbers(3),
      ".github/hunkwise.yml": "check: { fail: true }\n",
    });
    const pull = of.open({ "a.js": text }, { author: "mona" });
    await pull.tell("opened");
    await pull.concluded("failure");
    expect(pull.check()?.output.title).toMatch(/^Incomplete review/);
    expect(pull.check()?.output.summary).toContain("1 file was not read (text with NUL bytes)");
  });
});
