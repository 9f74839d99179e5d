import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCommand } from "../../src/webhooks/commands.ts";

const review = { name: "review", full: false, dryRun: false };

describe("a comment", () => {
  it.each([
    ["/review", review],
    ["/review  ", review],
    ["/Review", review],
    ["   /review", review],
    ["/review\r\nThank you!", review],
    ["/review\n/review full", review],
    ["@hunk-bot review", review],
    ["@Hunk-Bot   review", review],
    ["/review full", { ...review, full: true }],
    ["@hunk-bot review full", { ...review, full: true }],
    ["/review --dry-run", { ...review, dryRun: true }],
    ["/review --dry-run full", { name: "review", full: true, dryRun: true }],
  ])("%j is a command", (body, command) => expect(parseCommand(body, "hunk-bot")).toEqual(command));

  it.each([
    ["in the second line", "Hello\n/review"],
    ["behind an empty line", "\n/review"],
    ["in a sentence", "Please /review"],
    ["with a word too many", "/review please"],
    ["with an option twice", "/review full full"],
    ["with an unknown option", "/review --force"],
    ["that is longer", "/reviewer"],
    ["as part of a path", "/review/full"],
    ["with a gap", "/ review"],
    ["quoted", "> /review"],
    ["in inline code", "`/review`"],
    ["behind a code fence", "```\n/review\n```"],
    ["on the line of a fence", "``` /review"],
    ["indented as code", "    /review"],
    ["indented by a tab", "\t/review"],
    ["in an HTML comment", "<!-- /review -->"],
    ["behind an HTML comment", "<!-- x --> /review"],
    ["before an HTML comment", "/review <!-- x -->"],
    ["in a list", "- /review"],
    ["behind an invisible character", "\u200b/review"],
    ["with an invisible character", "/re\u200bview"],
    ["with a letter that looks alike", "/r\u0435view"],
    ["with a space that is none", "/review\u00a0full"],
    ["to somebody else", "@other-bot review"],
    ["to a longer name", "@hunk-bot-2 review"],
    ["to a team", "@hunk-bot/review"],
    ["to nobody", "review"],
    ["that is empty", ""],
    ["that is a mention alone", "@hunk-bot"],
    ["of something else", "/fix"],
    ["with endless space", `/review${" ".repeat(300)}full`],
  ])("%s is none", (_, body) => expect(parseCommand(body, "hunk-bot")).toBeNull());

  it("mentions nobody before the App's name is known", () => {
    expect(parseCommand("@hunk-bot review", null)).toBeNull();
    expect(parseCommand("@ review", "")).toBeNull();
  });

  it("is a command by its first line alone, whatever follows", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, rest) => {
        fc.pre(!/[\r\n]/.test(first));
        expect(parseCommand(`${first}\n${rest}`, "bot")).toEqual(parseCommand(first, "bot"));
      }),
    );
  });

  it("that is any text is read without failing, and only text that names the command is one", () => {
    const part = fc.constantFrom(
      "/",
      "@bot",
      "review",
      " ",
      "full",
      "--dry-run",
      ">",
      "`",
      "<!--",
      "\t",
      "x",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.array(part).map((parts) => parts.join("")),
        ),
        (body) => {
          const command = parseCommand(body, "bot");
          expect(
            command === null || /^ {0,3}(\/|@bot[ \t]+)review([ \t]+(full|--dry-run)){0,2}[ \t]*$/.test(body),
          ).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
