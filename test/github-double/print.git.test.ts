import { createColors } from "picocolors";
import { describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { headOf } from "../support/github-double/model.ts";
import { printMarkdown } from "../support/github-double/print-markdown.ts";
import { printPullRequest } from "../support/github-double/print-pull-request.ts";
import { createScenario } from "../support/github-double/scenario.ts";

const plain = { colors: createColors(false), width: 60 };

describe("Markdown on a terminal", () => {
  it.each([
    ["hidden <!-- a\nmarker --> comments", "hidden comments"],
    ["and one <!-- without an end", "and one"],
    ["**bold**, _slanted_, `co**d**e` and [a link](https://x)", "bold, slanted, `co**d**e` and a link"],
    ["**High: `forEach` does not wait**", "High: `forEach` does not wait"],
    ["[`for_each` waits](http://127.0.0.1/a#L1), `[a](b) **c**`", "`for_each` waits, `[a](b) **c**`"],
    ["&lt;b&gt; &amp; &#64;someone \\*not slanted\\*", "<b> & @someone *not slanted*"],
    ["# Heading\n\n\n\n- one\n  - two", "Heading\n\n• one\n  • two"],
    ["<details><summary>More</summary>\n\nhidden\n\n</details>\nend", "▸ More\nend"],
    ["<details><summary>A</summary><details><summary>B</summary>x</details></details>", "▸ A"],
    ["> said", "▎ said"],
    ["```js\nlet a; // <!-- kept -->\n```", "  let a; // <!-- kept -->"],
    ["snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"],
  ])("%j", (markdown, shown) => {
    expect(printMarkdown(markdown, plain).join("\n").replace(/ +$/gm, "")).toBe(shown);
  });

  it("wraps prose at the width and leaves code as it is", () => {
    const lines = printMarkdown(`${"word ".repeat(30)}\n\`\`\`\n${"x".repeat(80)}\n\`\`\``, plain);
    expect(lines.slice(0, -1).every((line) => line.length <= 60)).toBe(true);
    expect(lines.at(-1)).toBe(`  ${"x".repeat(80)}`);
  });

  it("shows a suggestion as the change it makes", () => {
    const lines = printMarkdown("```suggestion\nnew\n```", { ...plain, replaced: ["old"] });
    expect(lines).toEqual(["Suggested change", "- old", "+ new"]);
  });
});

describe("a pull request on a terminal", () => {
  it("shows what was said beneath the code it is about", async () => {
    await using scenario = await createScenario({
      base: { "cart.js": "export function total(items) {\n  let sum = 0;\n  return sum;\n}\n" },
      head: {
        "cart.js":
          "export function total(items) {\n  let sum = 0;\n  for (let i = 0; i <= items.length; i++) sum += items[i].price;\n  return sum;\n}\n",
      },
      title: "Sum the cart",
      body: "Adds the **total**.",
      author: "octocat",
      branch: "cart-total",
    });
    const call = clientOf(scenario.github, scenario.installation);
    const root = "/repos/octo-org/shop";
    await call(`POST ${root}/issues/1/comments`, { body: "<!-- hunkwise:summary {} -->\n1 problem found." });
    await call(`POST ${root}/pulls/1/reviews`, {
      event: "COMMENT",
      body: "",
      comments: [
        {
          path: "cart.js",
          line: 3,
          side: "RIGHT",
          body: "**High** · The loop reads past the end.\n\n```suggestion\n  for (const item of items) sum += item.price;\n```\n<!-- hunkwise:finding 1 -->",
        },
      ],
    });
    await call(`POST ${root}/check-runs`, {
      name: "Hunkwise",
      head_sha: headOf(scenario.pull),
      conclusion: "neutral",
      output: { title: "1 problem", summary: "" },
    });
    expect(await printPullRequest(scenario.pull, { width: 90 })).toMatchInlineSnapshot(`
      "──────────────────────────────────────────────────────────────────────────────────────────
      Sum the cart #1
      open · octo-org/shop · octocat wants to merge cart-total into main · 1 file changed

      ╭─ octocat ───────────────────────────────────────────────────────────────────────────────
      │ Adds the total.
      ╰─────────────────────────────────────────────────────────────────────────────────────────

      ╭─ hunkwise[bot] commented ───────────────────────────────────────────────────────────────
      │ 1 problem found.
      ╰─────────────────────────────────────────────────────────────────────────────────────────

      hunkwise[bot] reviewed 608d8f3

        ╭─ cart.js:3 ───────────────────────────────────────────────────────────────────────────
        │     1    1    export function total(items) {
        │     2    2      let sum = 0;
        │          3  +   for (let i = 0; i <= items.length; i++) sum += items[i].price;
        │ ──────────────────────────────────────────────────────────────────────────────────────
        │ hunkwise[bot]
        │ High · The loop reads past the end.
        │
        │ Suggested change
        │ -   for (let i = 0; i <= items.length; i++) sum += items[i].price;
        │ +   for (const item of items) sum += item.price;
        ╰───────────────────────────────────────────────────────────────────────────────────────

      ◼ Hunkwise neutral: 1 problem
      ──────────────────────────────────────────────────────────────────────────────────────────
      "
    `);
    expect(await printPullRequest(scenario.pull, { width: 90, color: true })).toContain(
      "\u001b[1mSum the cart",
    );
  });

  it("shows files, answers, reactions, what is resolved and what is outdated", async () => {
    await using scenario = await createScenario({
      base: { "a.txt": "a\nb\n", "b.txt": "b\n" },
      head: { "a.txt": `\u001b[31mA\t${"x".repeat(100)}\nB\n`, "b.txt": "B\n" },
    });
    const { people, pull, github } = scenario;
    const first = await people.reviewComment(pull, "octocat", { path: "a.txt", line: 1, body: "One" });
    people.reply(first, "keeper", "Two");
    const second = await people.reviewComment(pull, "octocat", {
      path: "a.txt",
      line: 2,
      side: "LEFT",
      body: "Three",
    });
    people.resolve(second, "keeper");
    const call = clientOf(github, scenario.installation);
    const command = people.comment(pull, "octocat", "/review");
    await call(`POST /repos/octo-org/shop/issues/comments/${command.id}/reactions`, { content: "eyes" });
    const onFile = { path: "b.txt", subject_type: "file", commit_id: headOf(pull), body: "Four" };
    await call("POST /repos/octo-org/shop/pulls/1/comments", onFile);
    const shown = await printPullRequest(pull, { width: 60 });
    expect(shown).toMatch(/─ a\.txt:1 ─[\s\S]*One\n[\s\S]*keeper\n.*Two\n/);
    expect(shown).toContain("✓ a.txt:2 (removed) resolved");
    expect(shown).toMatch(/─ b\.txt \(file\) ─[\s\S]*Four\n/);
    expect(shown).toContain("👀 1");
    expect(shown).not.toContain("Three");
    expect(shown).not.toContain("\u001b");
    expect(shown).toMatch(/ \+ \ufffd\[31mA {4}x+…$/m);
    people.push(pull, { "a.txt": "new\n" });
    expect(await printPullRequest(pull)).toContain("a.txt:1 Outdated");
  });
});
