import { describe, expect, it } from "vitest";
import { createReportWatch } from "../../../src/review/find/report-watch.ts";

const finding = {
  ...{ path: "src/cart.ts", side: "RIGHT", line: 30, quote: "  return sum - price;" },
  ...{ severity: "high", category: "correctness", confidence: 0.9 },
  ...{ title: "The total subtracts each price", body: "It is negative." },
};
type Sent = Record<string, unknown> | string;

/** Follows turns of one loop; each has refused (`no`), withheld and accepted (`yes`) reports. */
function lost(...turns: { no?: Sent[]; withheld?: Sent[]; yes?: Sent[]; tool?: string; error?: string }[]) {
  const watch = createReportWatch();
  for (const [
    at,
    { no = [], withheld = [], yes = [], tool = "report_finding", error = "refused" },
  ] of turns.entries()) {
    const metadata = { duration_ms: 0, truncated: false };
    const saw = (sent: Sent, isRefused: boolean, isWithheld: boolean) =>
      watch.saw({
        ...{ type: "tool_finished", turn: at + 1, isWithheld },
        call: { id: "c", name: tool, arguments: typeof sent === "string" ? sent : JSON.stringify(sent) },
        result: isRefused
          ? { status: "error", error, metadata }
          : { status: "success", output: {}, metadata },
      });
    for (const sent of no) saw(sent, true, false);
    for (const sent of withheld) saw(sent, true, true);
    for (const sent of yes) saw(sent, false, false);
  }
  return watch.lost();
}

describe("a refused report", () => {
  it("is lost if nothing follows, and says what it says", () => {
    expect(lost({ no: [finding] })).toEqual([
      { path: "src/cart.ts", text: "high, src/cart.ts:30: The total subtracts each price. It is negative." },
    ]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["the same", {}],
    ["another line nearby, and other words", { line: 40, title: "Every price is subtracted from the total" }],
    ["a worse severity", { severity: "critical" }],
    ["its path without a prefix", { path: "cart.ts" }],
    [
      "another title, line and file, and the same code",
      { title: "No", line: 999, path: "x.ts", quote: "return sum-price;" },
    ],
  ])("is repeated by a later report with %s", (_, over) => {
    expect(lost({ no: [finding] }, { yes: [{ ...finding, ...over }] })).toEqual([]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["a milder severity", { severity: "medium" }],
    ["nothing that reaches it", { reached: false }],
    ["another line and other code", { line: 41, quote: "x" }],
    ["another file and other code", { path: "src/other.ts", quote: "x" }],
    ["another title and other code", { title: "Prices may be null", quote: "x" }],
  ])("is lost in spite of a later report with %s", (_, over) => {
    expect(lost({ no: [finding] }, { yes: [{ ...finding, ...over }] })).toHaveLength(1);
  });

  it("is not repeated by a report of the same turn, whose model has not read the refusal", () => {
    const other = { ...finding, title: "The sum may overflow" };
    expect(lost({ no: [finding], yes: [other] })).toHaveLength(1);
  });

  it("is repeated by one report as often as it was refused, but only one of other words is", () => {
    expect(lost({ no: [finding] }, { no: [{ ...finding, line: 31 }] }, { yes: [finding] })).toEqual([]);
    const others = ["Rounds down", "Ignores the currency"].map((title) => ({ ...finding, title }));
    expect(lost({ no: others }, { yes: [{ ...finding, title: "Something else entirely" }] })).toHaveLength(1);
    expect(lost({ no: [finding, ...others] }, { yes: [finding] })).toHaveLength(2);
  });

  it("is no loss if it was refused on purpose", () => {
    expect(lost({ withheld: [finding] })).toEqual([]);
  });

  it("is one by another name, too, if it says what a report says", () => {
    const error = "there is no tool 'report_bug'; the tools are report_finding";
    expect(lost({ no: [finding], tool: "report_bug", error })).toHaveLength(1);
    expect(lost({ no: [{ path: "a.ts" }], tool: "open_file", error })).toEqual([]);
    expect(lost({ no: [finding], tool: "read_file_part" })).toEqual([]);
  });

  it.each<[string, string, RegExp]>([
    [
      "JSON without an end",
      JSON.stringify(finding).slice(0, -30),
      /^high, src\/cart\.ts:30: The total subtracts/,
    ],
    [
      "JSON that ends in its title",
      JSON.stringify(finding).replace(/ each price.*/, ""),
      /src\/cart\.ts:30: The total subtracts$/,
    ],
    [
      "line feeds in its text",
      JSON.stringify(finding).replace("The total", "The\n  total"),
      /: The total subtracts/,
    ],
    ["no JSON", "path=src/cart.ts", /^a report that cannot be read: path=src\/cart\.ts$/],
    ["no field of ours", '{"issue": "boom"}', /^a report that cannot be read: \{"issue": "boom"\}$/],
    ["a severity of another scale", JSON.stringify({ ...finding, severity: "Blocker" }), /^critical, /],
    [
      "a severity that no list has",
      JSON.stringify({ ...finding, severity: "urgent" }),
      /^src\/cart\.ts:30: The/,
    ],
  ])("is shown as far as it can be read: %s", (_, sent, words) => {
    const [one] = lost({ no: [sent] });
    expect(one?.text).toMatch(words);
  });

  it("is shown in 300 characters, however long it is", () => {
    const [one] = lost({ no: [{ ...finding, body: "It is negative again. ".repeat(100_000) }] });
    expect(one?.text.length).toBeLessThanOrEqual(300);
    expect(one?.text).toMatch(/again\. …$/);
  });
});
