import { describe, expect, it } from "vitest";
import { parseCommand, speaksToAnother } from "../../src/server/webhooks/commands.ts";
import { FUZZ_TIMEOUT_MS, fuzz, textOf } from "../support/fuzz.ts";

const comments = textOf([
  ...["/", "/review", "/ask", "/describe", "/remember", "/resolve", "/pause", "/resume", "/help", "/fix"],
  ...["@hunkwise", "@hunkwise[bot]", "@HUNKWISE", "@someone", "hunkwise", "full", "--dry-run", "?", ",", ":"],
  ...[
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\u00a0",
    "\u2028",
    "\ufeff",
    "\u200b",
    "\0",
    "é",
    "İ",
    "💥",
    "\ud800",
  ],
  ...[
    "> ",
    ">",
    "- ",
    "1. ",
    "    ",
    "```",
    "~~~",
    "````",
    "`",
    "``",
    "\\",
    "<!--",
    "-->",
    "<!-->",
    "--",
    "<",
  ],
  ...["why", "Does this hold", "is", "can you", "a", "1"],
]);

const names = new Set(["ask", "describe", "remember", "review", "resolve", "pause", "resume", "fix", "help"]);

describe("the command parser", () => {
  it(
    "The command parser reads any comment in time proportional to its length",
    () => {
      fuzz({
        values: comments,
        sizeOf: (comment) => comment.length,
        run: (comment) => ({
          command: parseCommand(comment, "hunkwise"),
          withoutSlug: parseCommand(comment, null),
          toAnother: speaksToAnother(comment, "hunkwise"),
        }),
        reaches: ({ command }) => command?.name === "ask" && command.question.length > 0,
        check({ command, withoutSlug, toAnother }) {
          if (command) expect(names).toContain(command.name);
          if (command) expect(toAnother).toBe(false);
          // A slash needs no slug, and a slug adds only what is addressed to it.
          if (withoutSlug) expect(command).toEqual(withoutSlug);
          if (command?.name === "ask") expect([...command.question].length).toBeLessThanOrEqual(4_000);
          if (command?.name === "remember") expect([...command.rule].length).toBeLessThanOrEqual(4_000);
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );
});
