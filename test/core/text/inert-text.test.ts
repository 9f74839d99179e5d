import { describe, expect, it } from "vitest";
import { inertMessage, mayNameCommit, withoutCommands } from "../../../src/core/text/inert-text.ts";

const shown = (text: string) => inertMessage(text).replaceAll("\u200b", "|");

describe("inertMessage", () => {
  it("An inert message names nobody, no issue and no commit", () => {
    expect(shown("@eve fixes #12, GH-3, abc1234 [skip ci]")).toBe(
      "@|eve fixes #|12, GH-|3, abc123|4 [|skip ci]",
    );
  });

  it("An inert message calls off no check of anybody's, and closes no issue that lies elsewhere", () => {
    expect(shown("[ci-skip] [skip_ci] [skip netlify] [vercel skip] [NO CI] [skip-checks: true]")).toBe(
      "[|ci-skip] [|skip_ci] [|skip netlify] [|vercel skip] [|NO CI] [|skip-checks: true]",
    );
    expect(shown("Fixes ENG-12, closes: ops-3 and resolves A1-4")).toBe(
      "Fixes ENG-|12, closes: ops-|3 and resolves A1-|4",
    );
  });

  it.each(
    "close closes closed fix fixes fixed resolve resolves resolved complete completes completed implement implements implemented".split(
      " ",
    ),
  )("leaves no issue of a tracker behind %s", (keyword) => {
    expect(shown(`${keyword} ops-3`)).toBe(`${keyword} ops-|3`);
    expect(shown(`${keyword.toUpperCase()}: OPS-3`)).toBe(`${keyword.toUpperCase()}: OPS-|3`);
  });

  it("An inert message names no commit in full, whatever its digits are", () => {
    for (const name of ["1".repeat(40), "a".repeat(40), "0".repeat(64)])
      expect(inertMessage(name)).not.toMatch(/[0-9a-f]{7}/);
  });

  it("An inert message is the same where nothing means anything", () => {
    const text =
      "A defaced facade: at most 1000000 rows since 20261122, a@ b # c, [draft], [skipper], parse2json, sha256sum, 20abcdefg, ISO-8601, fix UTF-8, fixes CVE-2021-1";
    expect(inertMessage(text)).toBe(text);
  });
});

describe("the name of a commit", () => {
  it.each(["abc1234", "ABC1234", "1234567a", "a".repeat(40), "1".repeat(64), `a1${"b".repeat(62)}`])(
    "The name of a commit may be %s",
    (word) => expect(mayNameCommit(word)).toBe(true),
  );

  it.each([
    "abc123",
    "defaced",
    "1000000",
    "abc1234g",
    "gabc1234",
    "a1".repeat(33),
    "-abc1234",
    "a".repeat(41),
  ])("The name of a commit is not %s", (word) => expect(mayNameCommit(word)).toBe(false));
});

describe("withoutCommands", () => {
  const commandsIn = (code: string) => withoutCommands(code).replaceAll("\u200b", "|");

  it.each([
    ["a bot", "see @dependabot rebase", "see @|dependabot rebase"],
    ["a longer name", "@Gemini-Code-Assist x", "@|Gemini-Code-Assist x"],
    ["each of several", "@claude @bors", "@|claude @|bors"],
    ["a line that begins with a command", "a\n/merge\n/deploy now\n/x", "a\n/|merge\n/|deploy now\n/|x"],
    [
      "indented, quoted ones",
      "  /merge\n\t/merge\n> > /lgtm-cancel",
      "  /|merge\n\t/|merge\n> > /|lgtm-cancel",
    ],
    ["a command in capitals, before a tab", "/Merge\tnow", "/|Merge\tnow"],
  ])("withoutCommands breaks %s", (_, code, broken) => {
    expect(commandsIn(code)).toBe(broken);
    expect(withoutCommands(withoutCommands(code))).toBe(withoutCommands(code));
  });

  it.each([
    ...[
      "@Override",
      "@app.route('/')",
      "/usr/bin/env",
      "/a/b",
      "a /merge",
      "// merge",
      "/* c */",
      "/1",
      "/.x",
      "/",
    ],
    ...["/regex.test(a)", "# /merge"],
  ])("withoutCommands leaves %s as it is", (code) => expect(withoutCommands(code)).toBe(code));
});
