import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/core/finding.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import {
  lookedAtAgain,
  nothingReviewable,
  sampleDropped,
  sampleFinding,
  samplePlace,
  sampleProof,
  sampleResult,
  sampleSource,
  skipping,
} from "./sample-result.ts";

const render = (over: Partial<ReviewResult>) => renderMarkdown(sampleResult(over), sampleSource);

describe("The Markdown report", () => {
  it("The Markdown report shows a finding with its code, its reason and its suggestion", () => {
    expect(render({})).toBe(`## Hunkwise: 1 high

Adds a total to the cart.

### HIGH: The condition assigns instead of comparing

\`src/cart.ts:6\` · correctness · 95 % sure

\`\`\`
  3 | export function total(items: Item[]) {
  4 |   let sum = 0;
  5 |   for (const item of items) {
> 6 |     if (item.price = 0) continue;
  7 |     sum += item.price;
  8 |   }
  9 |   return sum;
\`\`\`

\`item.price = 0\` sets every price to zero and is always false, so free items are added and paid items become free.

Suggestion:

\`\`\`diff
-    if (item.price = 0) continue;
+    if (item.price === 0) continue;
\`\`\`

<details><summary>About this review</summary>

- aaaaaaaaaaaa..bbbbbbbbbbbb, 2 files
- coverage: 3 of 3 hunks read by \`test-model\`
- effort: low
- usage: 4 requests, 12,345 prompt tokens (6,000 of them cached), 678 completion tokens, $0.0312
- time: 8.2 s

</details>
`);
  });

  it("The Markdown report names the files that were not read", () => {
    const text = render(skipping("too large", "lock file"));
    expect(text).toMatch(/^## Hunkwise: partial review\n\n\*\*Partial: 1 file was not read \(too large\); /);
    expect(text).toContain("\n- not read: `src/skipped-0.ts` (too large)\n\n");
  });

  it("The Markdown report praises nothing if there was nothing to read", () => {
    expect(render(nothingReviewable("image"))).toMatch(/^## Hunkwise: nothing to review\n/);
  });

  it("The Markdown report never calls a partial or an offline review free of problems", () => {
    const partial = render({ findings: [], stop_reason: "time_limit" });
    expect(partial).toMatch(/^## Hunkwise: partial review\n\n\*\*Partial: the time limit was reached;/);
    const offline = render({ findings: [], mode: "offline", model: null, stop_reason: "no_model" });
    expect(offline).toMatch(
      /^## Hunkwise \(offline\): nothing found by the analyzers\n\n\*\*Offline: .*no model read this change; .*checked it\.\*\*/,
    );
    expect(render({ findings: [] })).toMatch(/^## Hunkwise: no problems found\n/);
    const failed = { stop_reason: "model_error", usage: { ...sampleResult().usage, requests: 0 } } as const;
    expect(render({ findings: [], ...failed })).toMatch(/^## Hunkwise \(offline\): partial review\n/);
    expect(render({ mode: "offline", model: null })).toMatch(/^## Hunkwise \(offline\): 1 high\n/);
  });

  it("The Markdown report says what a second look confirmed, doubts and left out", () => {
    const text = render(lookedAtAgain());
    expect(text).toContain("\n\nThe same at `src/order.ts:12`, `src/old.ts:7-9` (removed).\n\n- Fails");
    expect(text).toContain("\n- Fails when: the price is 1\n");
    expect(text).toContain(
      "\n\n**Uncertain: a second look could neither confirm nor refute this.** the caller is not in the repository\n\n```\n",
    );
    expect(text).toContain("- effort: medium; 4 findings were checked again: 1 confirmed, 1 refuted, 2");
    expect(text).toContain("- left out: `src/price.ts:3` Prices may be missing. Refuted: the type has no");
    expect(text).toContain("- predicted: 15,000 tokens, $0.0400; actual: 13,023 tokens, $0.0312\n");
    expect(text).not.toContain("CODE OF A PLACE");
  });

  it("The Markdown report has no empty block for the code of a secret", () => {
    const finding = sampleFinding({ source: "secrets/aws-secret-access-key", quote: "", suggestion: null });
    const text = render({ findings: [{ finding, placement: { kind: "inline" } }] });
    expect(text).toContain(
      "`src/cart.ts:6` · correctness · `secrets/aws-secret-access-key`\n\n`item.price = 0` sets",
    );
    expect(text).not.toContain("```");
  });

  it("The Markdown report says what was hidden from the model", () => {
    expect(render({ masked: [{ path: "src/a.ts", line: 3 }] })).toContain(
      "\n- masked: 1 value on a changed line looks like a secret and was hidden from the model: `src/a.ts:3`\n",
    );
  });

  it("The Markdown report fences code that contains fences", () => {
    const quote = "````\nend";
    const finding = sampleFinding({ path: "x.md", quote, start_line: 5, line: 6, suggestion: null });
    expect(render({ findings: [{ finding, placement: { kind: "inline" } }] })).toContain(
      "`````\n> 5 | ````\n> 6 | end\n`````",
    );
  });

  it("The Markdown report has no live text of a model: no HTML, link, mention or hidden direction", () => {
    const hostile = "**x** <img src=y> [a](https://b.example) @team \u202e";
    const finding = sampleFinding({
      ...{ title: hostile, body: hostile, path: "a`b<i>.ts" },
      ...{
        verification: "uncertain",
        verification_note: hostile,
        places: [samplePlace({ path: "a`b<i>.ts" })],
      },
    });
    const text = render({
      summary: hostile,
      dropped: [sampleDropped({ path: "a`b<i>.ts", title: hostile, reason: hostile })],
      warnings: [hostile],
      findings: [{ finding, placement: { kind: "inline" } }],
    });
    expect(text).not.toMatch(/(?<!\\)<img|\]\(http|@team|\u202e/);
    for (const line of [3, 6, 12]) expect(text).toContain(`\`\`a\`b<i>.ts:${line}\`\``);
  });
});

describe("The Markdown report of a finding with a test", () => {
  const of = (over: Partial<Finding>) =>
    render({ findings: [{ finding: sampleFinding(over), placement: { kind: "inline" } }] });

  it("The Markdown report says below the facts what the test shows, with the test in a fold", () => {
    const text = of({ proof: sampleProof() });
    expect(text).toMatch(/95 % sure\n\n🧪 \*\*Regression shown by a test\.\*\* Before: .*\n\n```\n/);
    expect(text).toContain(
      "<details><summary>The test</summary>\n\n`test/cart-total.proof.test.ts`, a new file:\n",
    );
    expect(text).toContain("\n- tests: 1 of 1 finding is shown by a test\n");
  });

  it("The Markdown report says why a test shows nothing", () => {
    const text = of({ proof: { kind: "not_shown", reason: "it passes at the head" } });
    expect(text).toContain("\n- Not shown by a test: it passes at the head.\n");
    expect(text.replace("- Not shown by a test: it passes at the head.\n\n", "")).toBe(of({}));
  });
});
