import fc from "fast-check";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { describe, expect, it } from "vitest";
import { Command } from "../../../src/server/queue/job.ts";
import { openingOf, parseCommand, speaksToAnother } from "../../../src/server/webhooks/commands.ts";

const review = { name: "review", mode: "new" };
const ask = (question: string) => ({ name: "ask", question });
const remember = (rule: string) => ({ name: "remember", rule });

it.each([
  ["/review", review],
  ["/review  ", review],
  ["/Review", review],
  ["   /review", review],
  ["\n \n/review", review],
  ["/review\r\nThank you!", review],
  ["/review\n/review full", review],
  ["@hunk-bot review", review],
  ["@Hunk-Bot   review", review],
  ["@hunk-bot\treview", review],
  ["@hunk-bot[bot] review", review],
  ["/review full", { ...review, mode: "full" }],
  ["@hunk-bot review full", { ...review, mode: "full" }],
  ["/review --dry-run", { ...review, mode: "dry_run" }],
  ["/review\t--dry-run \t full", { ...review, mode: "dry_run" }],
  ["/resolve", { name: "resolve" }],
  ["/resolve 3", { name: "resolve", numbers: [3] }],
  ["@hunk-bot resolve #3, 12 7", { name: "resolve", numbers: [3, 12, 7] }],
  ["/fix", { name: "fix", all: false }],
  ["@hunk-bot fix all", { name: "fix", all: true }],
  ["/fix with test", { name: "fix", all: false, withTests: true }],
  ["@hunk-bot fix  all with\ttests", { name: "fix", all: true, withTests: true }],
  ["/PAUSE", { name: "pause" }],
  ["/resume\nWe are back.", { name: "resume" }],
  ["@hunk-bot help", { name: "help" }],
  ["/describe", { name: "describe" }],
  ["@hunk-bot describe", { name: "describe" }],
  ["/ask Why is this slow?", ask("Why is this slow?")],
  ["/ask   Why `x`?\r\n\r\n> quoted\n\n    code\n", ask("Why `x`?\n\n> quoted\n\n    code")],
  ["/ask\nWhy?", ask("Why?")],
  ["/ask is this right", ask("is this right")],
  ["@hunk-bot ask Why?", ask("Why?")],
  ["/remember Migrations are reversible.", remember("Migrations are reversible.")],
  ["@hunk-bot remember\n\nNo locks.\nNo `DROP`.", remember("No locks.\nNo `DROP`.")],
  ["> They said so.\n\n/resolve", { name: "resolve" }],
])("The comment %j is a command", (body, command) => expect(parseCommand(body, "hunk-bot")).toEqual(command));

it.each([
  ["@hunk-bot why is this slow?", "why is this slow?"],
  ["@hunk-bot, can you explain?", "can you explain?"],
  ["@hunk-bot: what of `null`?\n\nIt is allowed.", "what of `null`?\n\nIt is allowed."],
  ["@hunk-bot\nHow does it end?", "How does it end?"],
  ["@hunk-bot review this for me, please. Is it safe?", "review this for me, please. Is it safe?"],
  ["@hunk-bot resolve?", "resolve?"],
  ["@hunk-bot fix what? Explain.", "fix what? Explain."],
])("The comment %j asks a question", (body, question) =>
  expect(parseCommand(body, "hunk-bot")).toEqual(ask(question)),
);

it.each([
  ["in the second line", "Hello\n/review"],
  ["in a sentence", "Please /review"],
  ["with a word too many", "/review please"],
  ["with an option twice", "/review full full"],
  ["with an unknown option", "/review --force"],
  ["with an option in capitals", "/review FULL"],
  ["with dashes that a keyboard put together", "/review \u2014dry-run"],
  ["with an argument where none is", "/pause please"],
  ["with another command for an argument", "/resolve /pause"],
  ["with the number zero", "/resolve 0"],
  ["with a range", "/resolve 3-5"],
  ["with a number and a word", "/resolve 3 please"],
  ["with words that are not understood", "/fix all of it"],
  ["with a path", "/fix src/other.ts"],
  ["with half of an option", "/fix with"],
  ["with options the wrong way round", "/fix with tests all"],
  ["with an option that only begins like a known one", "/fix with testsuite"],
  ["that is longer", "/reviewer"],
  ["that is part of a path", "/review/full"],
  ["with a gap", "/ review"],
  ["with two slashes", "//review"],
  ["quoted", "> /review"],
  ["that continues a quote", "> quoted\n/review"],
  ["in inline code", "`/review`"],
  ["behind inline code", "`x` /review"],
  ["in a code fence", "```\n/review\n```"],
  ["on the line of a fence", "``` /review"],
  ["in a fence that is not closed", "~~~\n\n/review"],
  ["indented as code", "    /review"],
  ["indented by a tab", "\t/review"],
  ["indented by a space and a tab", " \t/review"],
  ["in an HTML comment", "<!-- /review -->"],
  ["in an HTML comment of several lines", "<!--\n/review\n-->"],
  ["in an HTML comment that is not closed", "<!--\n\n/review"],
  ["behind an HTML comment", "<!-- x --> /review"],
  ["before an HTML comment", "/review <!-- x -->"],
  ["in another element", "<p>/review"],
  ["in a list", "- /review"],
  ["in a heading", "# /review"],
  ["in bold", "**/review**"],
  ["escaped", "\\/review"],
  ["behind an invisible character", "\u200b/review"],
  ["behind a byte order mark", "\ufeff/review"],
  ["behind a no-break space", "\u00a0/review"],
  ["with an invisible character", "/re\u200bview"],
  ["with an invisible character behind it", "/review\u200b"],
  ["with a letter that looks alike", "/r\u0435view"],
  ["with a full-width slash", "\uff0freview"],
  ["with a slash that looks alike", "\u2215review"],
  ["with a no-break space", "/review\u00a0full"],
  ["with a line separator", "/review\u2028full"],
  ["to another account", "@other-bot review"],
  ["to a longer name", "@hunk-bot-2 review"],
  ["to a team", "@hunk-bot/review"],
  ["to a host", "@hunk-bot.example.com why?"],
  ["to an address", "me@hunk-bot review"],
  ["without a slash", "review"],
  ["that is empty", ""],
  ["that is a mention alone", "@hunk-bot"],
  ["that greets", "@hunk-bot hello!"],
  ["that thanks", "@hunk-bot thank you, well done"],
  ["that asks behind a greeting of somebody else", "Hi @ann, why?"],
  ["without a question", "/ask"],
  ["without a question that anybody sees", "/ask \u200b\n<!-- why? -->\n"],
  ["without a rule", "/remember  \n \n"],
  ["of another program", "/merge"],
  ["that is named like a property of every object", "/constructor"],
  ["with endless space", `/review${" ".repeat(300)}full`],
  ["beyond the first 20,000 bytes", `${"\n".repeat(20_000)}/review`],
])("A command %s is not read", (_, body) => expect(parseCommand(body, "hunk-bot")).toBeNull());

it("A mention is not read before the App's name is known", () => {
  expect(parseCommand("@hunk-bot review", null)).toBeNull();
  expect(parseCommand("@ review", "")).toBeNull();
});

it("A question is cut between two characters", () => {
  const long = `/ask ${"\u{1f600}a".repeat(5_000)}?`;
  expect(parseCommand(long, null)).toEqual(ask("\u{1f600}a".repeat(2_000)));
});

it("A rule that is too long is cut, and stays too long for the job", () => {
  const rules = [500, 501, 9_000].map((length) => parseCommand(`/remember ${"a".repeat(length)}`, null));
  expect(rules).toEqual([500, 501, 4_000].map((length) => remember("a".repeat(length))));
});

it("A command without a text is read from its first line alone", () => {
  const first = fc.constantFrom(
    "/review full",
    "/resolve",
    "/pause",
    "/help",
    "/help me",
    "hello",
    "/nothing",
  );
  fc.assert(
    fc.property(first, fc.string(), (line, rest) => {
      expect(parseCommand(`${line}\n${rest}`, "bot")).toEqual(parseCommand(line, "bot"));
    }),
  );
});

it("Any text is read without failing, and only text that names a command is one", () => {
  const signs = [
    "/",
    "@bot",
    "review",
    "pause",
    "ask",
    " ",
    "full",
    "--dry-run",
    ">",
    "`",
    "<!--",
    "-->",
    "\t",
    "x",
    "\n",
  ];
  const part = fc.constantFrom(...signs);
  const named =
    /^ {0,3}(\/|@bot[ \t]+)(review([ \t]+(full|--dry-run)){0,2}[ \t]*$|pause[ \t]*$|ask([ \t\n]|$))/m;
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
        fc.array(part, { maxLength: 12 }).map((parts) => parts.join("")),
      ),
      (body) => {
        const command = parseCommand(body, "bot");
        if (command && command.name !== "review") Command.parse(command);
        expect(command === null || named.test(body)).toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});

it("A command in a fence, a quote or an HTML comment is not read", () => {
  const command = fc.constantFrom(
    "/review full",
    "@bot review",
    "/ask why?",
    "/remember x",
    "/resolve",
    "@bot why?",
  );
  const lines = fc.array(fc.constantFrom("", "text", "> text", "`a`", "- a", "    a"), { maxLength: 4 });
  const hidden = (around: readonly string[]) => [
    ["```", ...around, "```"],
    ["~~~~ts", ...around, "~~~~"],
    ["````", "```", ...around],
    around.map((line) => `> ${line}`),
    around.map((line) => `    ${line}`),
    around.map((line) => `> > ${line}`),
    ["<!--", ...around, "-->"],
    ["<!--", ...around],
  ];
  fc.assert(
    fc.property(
      command,
      lines,
      lines,
      fc.constantFrom("\n", "\r\n", "\r"),
      (said, before, after, lineBreak) => {
        for (const body of hidden([...before, said, ...after])) {
          expect(parseCommand(body.join(lineBreak), "bot")).toBeNull();
        }
      },
    ),
  );
});

it.each([
  ["@ann what do you think?", true],
  ["@hunk-bot-2 why?", true],
  ["> quoted\n\n@ann why?", true],
  ["```\ncode\n```\n@ann why?", true],
  ["> quoted\n@ann why?", true],
  ["> quoted\n@hunk-bot why?", false],
  ["```\ncode\n```\nWhy, @ann?", false],
  ["@hunk-bot why?", false],
  ["@Hunk-Bot[bot]: why?", false],
  ["Why, @ann?", false],
  ["Why?", false],
  ["@ why?", false],
  ["", false],
])("The reply %j speaks to another account: %s", (body, another) => {
  expect(speaksToAnother(body, "hunk-bot")).toBe(another);
});

const firstLine = (body: string) => openingOf(body)?.line ?? null;

it.each([
  ["first line", "word", "word"],
  ["line behind blank lines", "\n \n\t\nword", "word"],
  ["line behind a quote and a blank line", "> one\n> two\n\nword", "word"],
  ["line behind nested quotes", "> > one\n>> two\n>\n\nword", "word"],
  ["line behind a quote of a closed comment", "> <!-- a -->\n\nword", "word"],
  ["line up to any line break", "word\rmore", "word"],
  ["line without its indentation", "   word  ", "word  "],
  ["line with a character that only looks like a space", "\u00a0word", "\u00a0word"],
])("The %s is what a person wrote first", (_, body, line) => expect(firstLine(body)).toBe(line));

it.each([
  ["that continues a quote without its sign", "> one\nword"],
  ["that continues a quote, indented", "> one\n    word"],
  ["in a quote", "> word"],
  ["in a fence", "```\nword\n```"],
  ["behind a fence", "~~~\ncode\n~~~\nword"],
  ["behind a fence that is not closed", "```\ncode\n\nword"],
  ["that is indented as code", "    word"],
  ["that is indented by a space and a tab", " \tword"],
  ["behind indented code", "    code\nword"],
  ["in a comment", "<!--\nword\n-->"],
  ["behind a comment", "<!-- a -->\nword"],
  ["in a comment that a quote leaves open", "> <!-- a\n\nword"],
  ["in a second comment that a quote leaves open", "> <!-- a --> <!-- b\n\nword"],
  ["in an empty comment", ""],
  ["beyond the first 20,000 bytes", `${"\n".repeat(20_000)}word`],
])("A line %s is not what a person wrote first", (_, body) => expect(firstLine(body)).toBeNull());

it("The lines behind the first one are kept as they are", () => {
  expect(openingOf("> a\n\none\r\n two\n\n> three")).toEqual({ line: "one", rest: " two\n\n> three" });
});

/** What a reader sees of Markdown as text of the writer: no comment, no quote, no code. */
function shownOf(markdown: string): string {
  const html = micromark(markdown, {
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
    allowDangerousHtml: true,
  });
  const visible = html
    .replace(/<!--(?:>|->|[\s\S]*?(?:-->|--!>|$))/g, "")
    .replace(/<pre>[\s\S]*?<\/pre>/g, "");
  let depth = 0;
  return visible
    .split(/(<\/?blockquote>)/)
    .filter((part) => {
      if (part === "<blockquote>") depth += 1;
      if (part === "</blockquote>") depth -= 1;
      return depth === 0;
    })
    .join("")
    .replace(/<code>[\s\S]*?<\/code>/g, "");
}

describe("Any comment", () => {
  const hiding = fc.constantFrom(
    ...[
      "",
      " ",
      "> ",
      ">",
      "> > ",
      "   > ",
      "    ",
      "\t",
      "```",
      "````",
      "~~~",
      "```js",
      "   ```",
      "    ```",
    ],
    ...[
      "<!--",
      "-->",
      "<!-- a -->",
      "<!-- a --> <!-- b",
      "--> <!--",
      "> <!--",
      "> -->",
      "<!-->",
      "<!--->",
      "> ```",
    ],
    ...[
      "a",
      "- a",
      "1. a",
      "# a",
      "---",
      "  ",
      "- ",
      "  ```",
      "> a",
      "> # a",
      "``` `a` ```",
      "`",
      "> - a",
      "\\",
    ],
  );
  const marked = fc.constantFrom(
    "WORD",
    "  WORD",
    "    WORD",
    "> WORD",
    "--> WORD",
    "``` WORD",
    "WORD -->",
    "`WORD`",
  );
  const lineBreak = fc.constantFrom("\n", "\r\n", "\r", "\n\n");
  const comment = fc
    .array(
      fc.tuple(fc.oneof({ weight: 4, arbitrary: hiding }, { weight: 1, arbitrary: marked }), lineBreak),
      {
        maxLength: 9,
      },
    )
    .map((parts) => `${parts.flat().join("")}`);

  it("The first line of any comment is shown as its writer's own text", () => {
    let found = 0;
    fc.assert(
      fc.property(comment, marked, (before, last) => {
        const body = before.replaceAll("WORD", "other") + last;
        const line = firstLine(body);
        if (line === null || !line.startsWith("WORD")) return;
        found += 1;
        expect(shownOf(body)).toContain("WORD");
      }),
      { numRuns: 4_000 },
    );
    expect(found).toBeGreaterThan(50);
  });

  it.each([
    ["backticks", "`"],
    ["tildes", "~"],
    ["comments that begin", "<!--"],
    ["quotes", ">"],
    ["fences that begin and end", "```\n```\n"],
    ["quotes and blank lines", "> a\n\n"],
    ["comments", "<!-- a -->\n"],
    ["white space", " \t"],
  ])("64 kB of %s are read once", (_, part) => {
    const body = part.repeat(65_536 / part.length);
    // With a second look at each line, this would take minutes.
    for (let round = 0; round < 50; round += 1)
      expect(openingOf(`${body}\nword`)?.line ?? null).not.toBe("word");
  });
});
